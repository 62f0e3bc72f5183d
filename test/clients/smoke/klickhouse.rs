// The crate klickhouse, which speaks the native protocol.
use futures_util::StreamExt;
use klickhouse::{Client, ClientOptions, KlickhouseError, Row, UnitValue};
use std::collections::HashMap;
use std::env::var;
use std::fmt::Debug;

#[derive(Row, Clone, Debug, PartialEq)]
struct Event {
    id: u64,
    name: String,
    value: Option<f64>,
    tags: Vec<String>,
    counts: HashMap<String, u32>,
}

fn event(id: u64) -> Event {
    Event {
        id,
        name: format!("é {id}"),
        value: (id % 2 == 0).then_some(id as f64 / 4.0),
        tags: vec!["a".into(), id.to_string()],
        counts: HashMap::from([("k".into(), id as u32)]),
    }
}

fn check<T: Debug + PartialEq>(name: &str, seen: Result<T, KlickhouseError>, wanted: T) {
    match seen {
        Ok(value) if value == wanted => println!("ok {name}"),
        other => println!("not ok {name}: {}", format!("{other:?}").chars().take(300).collect::<String>()),
    }
}

async fn number(client: &Client, sql: &str) -> Result<u64, KlickhouseError> {
    client.query_one::<UnitValue<u64>>(sql).await.map(|UnitValue(value)| value)
}

#[tokio::main]
async fn main() {
    let address = format!("{}:{}", var("CLICKHOUSE_HOST").unwrap(), var("CLICKHOUSE_NATIVE_PORT").unwrap());
    let options = |password: String| ClientOptions { username: "default".into(), password, ..Default::default() };
    let client = Client::connect(&address, options(var("CLICKHOUSE_PASSWORD").unwrap())).await.expect("a login");
    let refused = Client::connect(&address, options("wrong".into())).await;
    check("a wrong password is refused", Ok(refused.is_err()), true);

    check("a query", number(&client, "SELECT toUInt64(1 + 1)").await, 2);
    let drop = "DROP TABLE IF EXISTS klickhouse_events";
    check("a definition is dropped", client.execute(drop).await, ());
    let create = "CREATE TABLE klickhouse_events (id UInt64, name String, value Nullable(Float64), tags Array(String), \
                  counts Map(String, UInt32)) ENGINE = MergeTree ORDER BY id";
    check("a definition", client.execute(create).await, ());
    let rows: Vec<Event> = (0..20_000).map(event).collect();
    let insert = "INSERT INTO klickhouse_events FORMAT native";
    check("an insert of blocks", client.insert_native_block(insert, rows.clone()).await, ());
    let all = client.query_collect::<Event>("SELECT * FROM klickhouse_events ORDER BY id").await;
    check("every row and type comes back", all, rows);
    check("values in the text", client.execute("INSERT INTO klickhouse_events (id) VALUES (20000), (20001)").await, ());
    check("what was inserted is there", number(&client, "SELECT count() FROM klickhouse_events").await, 20_002);

    let mut sum = 0;
    let sql = "SELECT number FROM numbers(1000000)";
    match client.query::<UnitValue<u64>, _>(sql).await {
        Ok(mut stream) => {
            while let Some(Ok(UnitValue(value))) = stream.next().await {
                sum += value;
            }
            check("a large answer as a stream", Ok(sum), 499_999_500_000);
        }
        Err(error) => check("a large answer as a stream", Err(error), 0),
    }
    let unknown = client.execute("SELECT nothing").await;
    check("an exception is told", Ok(unknown.is_err()), true);
    check("the connection goes on after it", number(&client, "SELECT toUInt64(3)").await, 3);
    check("the table is dropped", client.execute(drop).await, ());
    println!("done");
}
