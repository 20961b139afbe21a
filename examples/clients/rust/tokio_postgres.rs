//! tokio-postgres: ids are i64, in binary.
use std::fmt::Debug;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio_postgres::{Client, Error, NoTls, Row};

/// 2023-01-01 00:00:00 UTC, in milliseconds since 1970
const EPOCH_MS: i64 = 1_672_531_200_000;

/// The time, shard and sequence of a snowflake.
fn parts(id: i64) -> (SystemTime, i64, i64) {
    let ms = ((id >> 22) + EPOCH_MS) as u64;
    (UNIX_EPOCH + Duration::from_millis(ms), id >> 12 & 1023, id & 4095)
}

/// The smallest id of a time: half-open ranges of them are ranges of time.
fn first_id(time: SystemTime) -> i64 {
    let ms = time.duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    (ms - EPOCH_MS) << 22
}

/// An id that a double cannot hold.
const OLD: i64 = 154173452582932603;

fn check(what: &str, ok: bool, seen: impl Debug) {
    if ok {
        println!("ok {what}");
    } else {
        println!("not ok {what}: {seen:?}");
    }
}

fn same<T: PartialEq + Debug>(what: &str, seen: T, expected: T) {
    let ok = seen == expected;
    check(what, ok, (seen, expected));
}

/// Its fields, and the time as milliseconds since 1970, which the server computes.
async fn check_vectors(db: &Client) -> Result<(), Error> {
    let text = std::fs::read_to_string("../vectors.tsv").unwrap();
    let mut wrong: Vec<String> = vec![];
    let mut count = 0;
    for fields in text.lines().map(|line| line.split('\t').collect::<Vec<_>>()) {
        if fields[0] != "snowflake" {
            continue;
        }
        count += 1;
        let time: SystemTime = db.query_one("SELECT $1::text::timestamptz", &[&fields[2]]).await?.get(0);
        let id = fields[1].parse().unwrap();
        let expected = (time, fields[3].parse().unwrap(), fields[4].parse().unwrap());
        if parts(id) != expected || first_id(time) != id >> 22 << 22 {
            wrong.push(fields[1].to_string());
        }
    }
    check("decodes the vectors", count > 30 && wrong.is_empty(), wrong);
    Ok(())
}

async fn run(db: &Client) -> Result<(), Error> {
    db.batch_execute(
        "CREATE TABLE orders (
            id bigint PRIMARY KEY DEFAULT snowflake_nextval(5),
            item text NOT NULL)").await?;
    let row = db.query_one("INSERT INTO orders (item) VALUES ($1) RETURNING id", &[&"apples"]).await?;
    let id: i64 = row.get("id");
    let many = db.query("INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING id",
        &[&vec!["pears", "plums", "figs"]]).await?;
    let found = db.query_one("SELECT item FROM orders WHERE id = $1", &[&id]).await?;
    let page = db.query("SELECT item FROM orders WHERE id > $1 ORDER BY id LIMIT 2", &[&id]).await?;

    check("an id is an i64, and large", id > 1 << 53, id);
    let ids: Vec<i64> = many.iter().map(|row| row.get(0)).collect();
    check("many ids come back, in order", ids.len() == 3 && ids[0] < ids[1] && ids[1] < ids[2], &ids);
    same("found by its key", found.get(0), "apples");
    let text = |row: &Row| row.get::<_, String>(0);
    same("the page after it", page.iter().map(text).collect::<Vec<_>>().join(","), "pears,plums".to_string());

    db.execute("INSERT INTO orders VALUES ($1, 'an old one')", &[&OLD]).await?;
    let march_1 = UNIX_EPOCH + Duration::from_secs(1_709_251_200);
    let march_2 = march_1 + Duration::from_secs(86_400);
    let range = db.query("SELECT id FROM orders WHERE id >= $1 AND id < $2",
        &[&first_id(march_1), &first_id(march_2)]).await?;
    same("found by a range of time, whole", range.iter().map(|row| row.get(0)).collect::<Vec<i64>>(), vec![OLD]);
    let range = db.query("SELECT id FROM orders WHERE id >= snowflake_first($1) AND id < snowflake_first($2)",
        &[&march_1, &march_2]).await?;
    same("also by the server's functions", range.len(), 1);

    let server = db.query_one("SELECT created_at, shard::bigint, sequence::bigint FROM snowflake_parts($1)", &[&id]).await?;
    same("the client sees what the server sees", parts(id), (server.get(0), server.get(1), server.get(2)));
    check_vectors(db).await?;

    // done wrong
    let narrow = db.query_one("SELECT id FROM orders WHERE id = $1", &[&OLD]).await?;
    check("an i32 is refused", narrow.try_get::<_, i32>(0).is_err(), ());
    check("a parameter of i32, too", db.query("SELECT 1 FROM orders WHERE id = $1", &[&5i32]).await.is_err(), ());
    check("an f64 loses digits", OLD as f64 as i64 != OLD, OLD as f64);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let var = |name| std::env::var(name).unwrap();
    let config = format!("host={} port={} user={} password={} dbname={}",
        var("PGHOST"), var("PGPORT"), var("PGUSER"), var("PGPASSWORD"), var("PGDATABASE"));
    let (db, connection) = tokio_postgres::connect(&config, NoTls).await?;
    tokio::spawn(connection);
    run(&db).await?;
    println!("end");
    Ok(())
}
