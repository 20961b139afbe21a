"""Django: a field that is filled in by the database, as BigAutoField is, with
another default."""
from check import MARCH_1, MARCH_2, OLD, check, end, fails, same
from snowflake import first_id

import io
import json
import os
import re

import django
from django.conf import settings
from django.core.management import call_command
from django.core.management.color import no_style
from django.core.serializers.json import DjangoJSONEncoder
from django.db import IntegrityError, ProgrammingError, connection, migrations, models, transaction
from django.db.migrations.state import ModelState, ProjectState

settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes"],
    USE_TZ=True,
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"],
        "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
        "USER": os.environ["PGUSER"], "PASSWORD": os.environ["PGPASSWORD"]}},
)
django.setup()


class SnowflakeField(models.BigAutoField):
    def db_type(self, connection):
        return "bigint DEFAULT snowflake_nextval()"

    def db_type_suffix(self, connection):   # no IDENTITY, from Django 4.1 on
        return None


class Order(models.Model):
    id = SnowflakeField(primary_key=True)
    item = models.TextField()

    class Meta:
        app_label = "shop"


class Line(models.Model):
    id = SnowflakeField(primary_key=True)
    order = models.ForeignKey(Order, models.CASCADE)

    class Meta:
        app_label = "shop"


# what migrate does
with connection.schema_editor() as editor:
    editor.create_model(Order)
    editor.create_model(Line)

order = Order.objects.create(item="apples")
many = Order.objects.bulk_create([Order(item="pears"), Order(item="plums"), Order(item="figs")])
found = Order.objects.get(pk=order.pk)
page = Order.objects.filter(pk__gt=order.pk).order_by("pk")[:2]

check("an id is an int, and large", isinstance(order.pk, int) and order.pk > 2**53, order.pk)
same("many ids come back, in order", sorted(o.pk for o in many), [o.pk for o in many])
same("found by its key", found.item, "apples")
same("the page after it", [o.item for o in page], ["pears", "plums"])

Order.objects.create(pk=OLD, item="an old one")
range_ = Order.objects.filter(pk__gte=first_id(MARCH_1), pk__lt=first_id(MARCH_2))
same("found by a range of time, whole", [o.pk for o in range_], [OLD])

line = Line.objects.create(order=order)
same("a foreign key is a bigint, without the default", Line.objects.get(order__item="apples").order_id, order.pk)
with connection.cursor() as cursor:
    cursor.execute("SELECT table_name, column_name, data_type, column_default FROM information_schema.columns"
                   " WHERE table_schema = 'public' AND table_name LIKE 'shop_%' AND column_name <> 'item' ORDER BY 1, 2")
    same("as the server has it", cursor.fetchall(), [
        ("shop_line", "id", "bigint", "snowflake_nextval()"),
        ("shop_line", "order_id", "bigint", None),
        ("shop_order", "id", "bigint", "snowflake_nextval()")])

# What loaddata does after a fixture: it resets the sequence of an automatic field.
with connection.cursor() as cursor:
    for statement in connection.ops.sequence_reset_sql(no_style(), [Order, Line]):
        cursor.execute(statement)
        same("resetting a sequence that is not there does no harm", cursor.fetchone(), (None,))
after = Order.objects.create(item="after that")
check("ids go on from the time", after.pk > order.pk, (after.pk, order.pk))

# the schema's tools
call_command("migrate", verbosity=0)
models_py = io.StringIO()
call_command("inspectdb", include_views=True, include_partitions=True, stdout=models_py)
same("inspectdb writes models of the project's tables only",
     re.findall("db_table = '(.*)'", models_py.getvalue()),
     ["django_content_type", "django_migrations", "shop_line", "shop_order"])

# JSON
same("Python's JSON keeps all digits", json.loads(json.dumps({"id": OLD}, cls=DjangoJSONEncoder)), {"id": OLD})


# done wrong
class Plain(models.Model):
    id = models.BigIntegerField(primary_key=True)
    item = models.TextField()

    class Meta:
        app_label = "shop"
        db_table = "shop_order"             # whose id has the default


class Automatic(models.Model):
    id = models.BigAutoField(primary_key=True)

    class Meta:
        app_label = "shop"


def create_plain():
    with transaction.atomic():
        return Plain.objects.create(item="apples")


fails("BigIntegerField(primary_key=True) inserts NULL", IntegrityError, create_plain)
with connection.schema_editor() as editor:
    editor.create_model(Automatic)
same("BigAutoField counts from 1", Automatic.objects.create().pk, 1)


# a table that has a BigAutoField already
def migrate(operation):
    before = ProjectState()
    before.add_model(ModelState.from_model(Automatic))
    after = before.clone()
    operation.state_forwards("shop", after)
    with connection.schema_editor(atomic=True) as editor:
        operation.database_forwards("shop", editor, before, after)


alter_field = migrations.AlterField("Automatic", "id", SnowflakeField(primary_key=True))
fails("what makemigrations writes for it is not SQL", ProgrammingError, lambda: migrate(alter_field))
identity = django.VERSION >= (4, 1)
drop_sequence = "ALTER COLUMN id DROP IDENTITY" if identity else "ALTER COLUMN id DROP DEFAULT"
migrate(migrations.SeparateDatabaseAndState(
    database_operations=[migrations.RunSQL([
        f"ALTER TABLE shop_automatic {drop_sequence}",
        "ALTER TABLE shop_automatic ALTER COLUMN id SET DEFAULT snowflake_nextval()",
        "DROP SEQUENCE IF EXISTS shop_automatic_id_seq"])],
    state_operations=[alter_field]))
check("with SQL of its own the table has snowflakes", Automatic.objects.create().pk > 2**53)

if django.VERSION >= (5, 0):
    class WithDefault(models.Model):
        id = models.BigIntegerField(primary_key=True, db_default=models.Func(function="snowflake_nextval"))
        item = models.TextField()

        class Meta:
            app_label = "shop"

    with connection.schema_editor() as editor:
        editor.create_model(WithDefault)
    check("db_default is read back", WithDefault.objects.create(item="apples").pk > 2**53)

end()
