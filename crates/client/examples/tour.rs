//! The client in use, against a server whose keys beginning with `tour:` may be written:
//! `cargo run --example tour -- redis://127.0.0.1`.

#![expect(clippy::print_stdout, reason = "it is a program that prints")]

use apus_client::prelude::*;
use apus_client::{Event, Pipeline, Script, Transaction, cmd};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1".into());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{}", runtime.block_on(tour(&url))?);
    Ok(())
}

/// What was found on the way.
pub(crate) async fn tour(url: &str) -> apus_client::Result<String> {
    let client = Client::connect(url).await?;
    client.del(["tour:hits", "tour:board", "tour:stock", "tour:log"]).await?;

    // A hundred tasks share the connection; their commands leave together.
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.incr("tour:hits").to::<i64>().await })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic")?;
    }

    // Options are methods; replies become what the program wants.
    client.set("tour:stock", 3).ex(60).await?;
    let mut pipeline = Pipeline::new();
    pipeline.push(cmd().zadd("tour:board", (7, "Ada"))).push(cmd().get("tour:hits"));
    let (added, hits): (i64, i64) = client.run(pipeline).await?;

    // Takes one out of the stock, again and again until no other has changed it meanwhile.
    let (left,): (i64,) = client
        .exec_watching(["tour:stock"], async |own| {
            let stock: i64 = own.get("tour:stock").to().await?;
            let mut transaction = Transaction::new();
            transaction.push(cmd().incrby("tour:stock", if stock > 0 { -1 } else { 0 }));
            Ok(transaction)
        })
        .await?;

    let script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    let more: i64 = script.run(&client, "tour:stock", 5).await?;

    client.xadd("tour:log", "*", ("what", "opened")).await?;
    let entry = client.entries("tour:log").after("0").next().await.expect("one")?;

    let mut subscriber = client.subscriber().await?;
    subscriber.subscribe(["tour:news"]).await?;
    client.publish("tour:news", "hello").await?;
    let Event::Message(message) = subscriber.next().await else {
        return Ok("the connection broke: look at the history".into());
    };
    let news = String::from_utf8_lossy(&message.payload).into_owned();
    let fields = entry.fields.len();
    Ok(format!(
        "{hits} hits, {added} on the board, {left} and {more} in stock, {fields} fields, {news}"
    ))
}
