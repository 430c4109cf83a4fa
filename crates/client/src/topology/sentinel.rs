//! Sentinel: where the master of a name is, asked anew for every connection.
//!
//! A connection's driver asks before it connects, so a failover is a broken connection like any other. A watch on
//! `+switch-master` breaks connections to a server that was demoted without closing them.

use crate::command::Command;
use crate::config::{Address, Config, SentinelConfig};
use crate::connection::{Connection, Reply, Resolve, Settings};
use crate::convert::FromValue;
use crate::error::{Error, Result};
use crate::subscriber::{Event, Subscriber};
use crate::value::Value;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Sentinels that are remembered.
const SENTINELS_MAX: usize = 32;

/// What finds a server's address.
#[derive(Debug)]
pub(crate) struct Sentinels {
    master: String,
    /// The configuration of connections to sentinels, but for the address.
    config: Config,
    /// The one that answered last is the first.
    known: Mutex<Vec<Address>>,
    wants_replica: bool,
}

impl Sentinels {
    pub(crate) fn new(config: &Config, sentinel: &SentinelConfig, wants_replica: bool) -> Self {
        let own = Config {
            tls: config.tls.clone(),
            username: sentinel.username.clone(),
            password: sentinel.password.clone(),
            name: config.name.clone(),
            connect_timeout: config.connect_timeout.min(Duration::from_secs(2)),
            response_timeout: Some(Duration::from_secs(2)),
            backoff: config.backoff,
            ..Config::default()
        };
        let known = Mutex::new(sentinel.addresses.clone());
        Self { master: sentinel.master.clone(), config: own, known, wants_replica }
    }

    fn known(&self) -> Vec<Address> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn settings(&self, address: &Address) -> Settings {
        let mut settings =
            Settings::new(Config { address: address.clone(), ..self.config.clone() });
        settings.reconnect = false;
        settings
    }

    async fn ask(&self, sentinel: &Address) -> Result<Address> {
        let connection = Connection::connect(self.settings(sentinel), None).await?;
        let ask = |what: &str| {
            let command = Command::new("SENTINEL").arg((what, &self.master));
            Reply::new(connection.clone(), command)
        };
        let others = Vec::<HashMap<String, String>>::from_value(ask("SENTINELS").await?)?;
        self.learn(sentinel, others.iter().filter_map(address_of).collect());
        if self.wants_replica {
            let replicas = Vec::<HashMap<String, String>>::from_value(ask("REPLICAS").await?)?;
            let is_up = |replica: &&HashMap<String, String>| {
                let flags = replica.get("flags").map_or("", String::as_str);
                !["s_down", "o_down", "disconnected"].iter().any(|flag| flags.contains(flag))
            };
            let up: Vec<Address> = replicas.iter().filter(is_up).filter_map(address_of).collect();
            if !up.is_empty() {
                let i = crate::random::number() % up.len() as u64;
                return Ok(up[usize::try_from(i).unwrap_or(0)].clone());
            }
        }
        match Option::<(String, u16)>::from_value(ask("GET-MASTER-ADDR-BY-NAME").await?)? {
            Some((host, port)) => Ok(Address::Tcp(host, port)),
            None => Err(Error::connection(format!("it knows no master {:?}", self.master))),
        }
    }

    /// Puts a sentinel first, and others that it knows behind those that are known.
    fn learn(&self, first: &Address, others: Vec<Address>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for other in others {
            if known.len() < SENTINELS_MAX && !known.contains(&other) {
                known.push(other);
            }
        }
        if let Some(at) = known.iter().position(|address| address == first) {
            known[..=at].rotate_right(1);
        }
    }

    /// Says when the sentinels have moved the master; ends when no receiver is left. `tell` is told whether it has
    /// moved, and says whether it wants to know more.
    pub(crate) async fn watch(self: Arc<Self>, tell: impl Fn(bool) -> bool + Send) {
        while tell(false) {
            for address in self.known() {
                let Ok(mut subscriber) = Subscriber::connect(self.settings(&address)).await else {
                    continue;
                };
                if subscriber.subscribe(["+switch-master"]).await.is_err() {
                    continue;
                }
                loop {
                    let event =
                        tokio::time::timeout(Duration::from_secs(5), subscriber.next()).await;
                    let has_moved = match event {
                        Ok(Event::Message(message)) => {
                            let name = message.payload.split(|&byte| byte == b' ').next();
                            name == Some(self.master.as_bytes())
                        }
                        // Something may have been missed.
                        Ok(Event::Gap) => true,
                        Err(_) => false,
                    };
                    if !tell(has_moved) {
                        return;
                    }
                }
            }
            tokio::time::sleep(self.config.backoff.max).await;
        }
    }
}

impl Resolve for Sentinels {
    /// Where the master is now, or one of its replicas if those are wanted and there are some.
    ///
    /// Boxed, since connections to sentinels are connections, too.
    fn find(&self) -> Pin<Box<dyn Future<Output = Result<Address>> + Send + '_>> {
        Box::pin(async {
            let mut last = Error::usage("no sentinel is known");
            for address in self.known() {
                match self.ask(&address).await {
                    Ok(found) => return Ok(found),
                    Err(error) => last = Error::connection(format!("sentinel {address}: {error}")),
                }
            }
            Err(last)
        })
    }

    /// Whether a server is what the sentinels say: a master may have been demoted meanwhile.
    fn check_role(&self, role: &Value) -> Result<()> {
        let is_master = match role {
            Value::Array(items) => items.first().and_then(Value::as_str) == Some("master"),
            // A server without ROLE is believed.
            _ => return Ok(()),
        };
        if is_master || self.wants_replica {
            return Ok(());
        }
        Err(Error::connection("the server is no master (any more)"))
    }
}

fn address_of(fields: &HashMap<String, String>) -> Option<Address> {
    Some(Address::Tcp(fields.get("ip")?.clone(), fields.get("port")?.parse().ok()?))
}
