"""SQLAlchemy: BigInteger, and a server_default that it reads back with RETURNING; Alembic."""
from check import MARCH_1, MARCH_2, OLD, check, end, fails, same
from snowflake import first_id

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from sqlalchemy import BigInteger, Column, Integer, Text, create_engine, event, func, select, text
from sqlalchemy.exc import DataError
from sqlalchemy.orm import Session, declarative_base

engine = create_engine("postgresql+psycopg2://")     # PGHOST, PGDATABASE and so on say where
Base = declarative_base()


class Order(Base):
    __tablename__ = "orders"
    id = Column(BigInteger, primary_key=True, server_default=text("snowflake_nextval()"))
    item = Column(Text, nullable=False)


Base.metadata.create_all(engine)

with Session(engine) as session:
    order = Order(item="apples")
    many = [Order(item="pears"), Order(item="plums"), Order(item="figs")]
    session.add(order)
    session.flush()
    session.add_all(many)
    session.commit()

    found = session.get(Order, order.id)
    page = session.scalars(
        select(Order).where(Order.id > order.id).order_by(Order.id).limit(2)).all()

    check("an id is an int, and large", isinstance(order.id, int) and order.id > 2**53, order.id)
    same("many ids come back, in order", sorted(o.id for o in many), [o.id for o in many])
    same("found by its key", found.item, "apples")
    same("the page after it", [o.item for o in page], ["pears", "plums"])

    session.add(Order(id=OLD, item="an old one"))
    session.commit()
    session.expire_all()
    range_ = session.scalars(
        select(Order).where(Order.id >= first_id(MARCH_1), Order.id < first_id(MARCH_2))).all()
    same("found by a range of time, whole", [o.id for o in range_], [OLD])

# keys first, then one statement for all rows
statements = []
event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
items = ["limes", "dates", "plums"]
with Session(engine) as session:
    keys = session.scalars(
        select(func.snowflake_nextval()).select_from(func.generate_series(1, len(items)))).all()
    session.add_all([Order(id=key, item=item) for key, item in zip(keys, items)])
    session.commit()
    same("keys that were generated first", [session.get(Order, key).item for key in keys], items)
same("one INSERT for all rows", len([s for s in statements if s.startswith("INSERT")]), 1)

with engine.connect() as connection:
    default = connection.scalar(text(
        "SELECT column_default FROM information_schema.columns"
        " WHERE table_name = 'orders' AND column_name = 'id'"))
    same("the default is the server's", default, "snowflake_nextval()")
    same("and there is no sequence",
         connection.scalar(text("SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace")), 0)


# Alembic: what alembic revision --autogenerate writes into a migration
def autogenerate(**options):
    with engine.connect() as connection:
        return compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata)


same("Alembic finds nothing to do", autogenerate(compare_type=True, compare_server_default=True), [])
same("nor in all schemas", autogenerate(include_schemas=True), [])


# done wrong
class Narrow(Base):
    __tablename__ = "narrow"
    id = Column(Integer, primary_key=True, server_default=text("snowflake_nextval(5)"))


class Serial(Base):
    __tablename__ = "serials"
    id = Column(BigInteger, primary_key=True)


Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add(Narrow())
    fails("Integer is too narrow", DataError, session.commit)
with Session(engine) as session:
    serial = Serial()
    session.add(serial)
    session.commit()
    same("without a default it is a sequence, BIGSERIAL", serial.id, 1)

end()
