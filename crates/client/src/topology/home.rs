//! Where a subscriber of a cluster connects to: a connection that breaks is made anew where its slot is by then.

use crate::config::Address;
use crate::connection::Resolve;
use crate::error::Result;
use crate::subscriber::Subscriber;
use crate::topology::cluster::{Cluster, no_node};
use crate::topology::slots::slot;
use crate::value::Value;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

impl Cluster {
    /// A subscriber that follows the slot of a channel, or stays with any master that is there.
    pub(crate) async fn subscriber(self: &Arc<Self>, channel: Option<&[u8]>) -> Result<Subscriber> {
        let home =
            Home { cluster: self.clone(), slot: channel.map(slot), asked: AtomicU64::new(0) };
        let mut settings = self.settings_of_any();
        settings.resolver = Some(Arc::new(home));
        Subscriber::connect(settings).await
    }
}

/// Where a subscriber of a cluster connects to.
#[derive(Debug)]
struct Home {
    cluster: Arc<Cluster>,
    slot: Option<u16>,
    /// How often it was asked for: the map may be old from the second time on.
    asked: AtomicU64,
}

impl Resolve for Home {
    /// Boxed, since asking for the map needs a connection, too.
    fn find(&self) -> Pin<Box<dyn Future<Output = Result<Address>> + Send + '_>> {
        Box::pin(async {
            if self.asked.fetch_add(1, Relaxed) > 0 {
                self.cluster.refresh_now().await;
            }
            self.cluster.master_of(self.slot).ok_or_else(no_node)
        })
    }

    /// A replica hears what is published, too; that a slot is elsewhere is said when it is subscribed to.
    fn check_role(&self, _: &Value) -> Result<()> {
        Ok(())
    }

    fn slot(&self) -> Option<u16> {
        self.slot
    }
}
