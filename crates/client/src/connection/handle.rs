//! The callers' side of a connection.

use crate::connection::driver::{Driver, OnPush};
use crate::connection::queue::Queue;
use crate::connection::settings::Settings;
use crate::connection::stream::Stream;
use crate::error::Result;
use crate::metrics::Metrics;
use std::sync::Arc;

/// What has a connection that can be made anew, because its server is elsewhere now.
pub(crate) trait Reconnect: std::fmt::Debug + Send + Sync {
    /// Breaks the connection.
    fn reconnect(&self);
}

/// A handle; when the last one is dropped, the driver ends.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) queue: Arc<Queue>,
}

impl Connection {
    /// Connects now; what is wrong with the first connection is an error.
    pub(crate) async fn connect(settings: Settings, on_push: Option<OnPush>) -> Result<Arc<Self>> {
        let stream = settings.connect().await?;
        Ok(Self::spawn(settings, Some(stream), on_push))
    }

    /// Connects in the background. Needs tokio's runtime.
    pub(crate) fn lazy(settings: Settings, on_push: Option<OnPush>) -> Arc<Self> {
        Self::spawn(settings, None, on_push)
    }

    fn spawn(settings: Settings, stream: Option<Stream>, on_push: Option<OnPush>) -> Arc<Self> {
        let queue = Arc::new(Queue::new(settings.config.commands_max, settings.config.bytes_max));
        let driver = Driver::new(queue.clone(), Arc::new(settings), on_push);
        tokio::spawn(driver.run(stream));
        Arc::new(Self { queue })
    }

    pub(crate) fn count_into(&self, metrics: &mut Metrics) {
        let inner = self.queue.lock();
        metrics.add(&inner.stats, inner.load());
    }

    /// Commands that wait for their replies.
    pub(crate) fn pending(&self) -> usize {
        self.queue.lock().pending()
    }

    /// Whether commands are refused: there is no connection now, or never again.
    pub(crate) fn is_down(&self) -> bool {
        self.queue.lock().is_down()
    }
}

impl Reconnect for Connection {
    fn reconnect(&self) {
        self.queue.kick();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.queue.close();
    }
}
