//! Questions to the application: a function in the store answers at once. What goes over HTTP is not asked yet.

use ::live::options::{Endpoint, Proxy};
use ::live::proxy::{self, Caller, Event, Outcome};

use super::wire::Kind;
use super::{Client, Cx, Hub};
use crate::live::value::Value;
use live_protocol::Form;

fn caller(client: &Client) -> Caller<'_> {
    Caller {
        client: &client.uid,
        transport: match client.wire.kind {
            Kind::WebSocket => "websocket",
            Kind::Sse => "sse",
            Kind::HttpStream => "http_stream",
            Kind::UniWebSocket => "uni_websocket",
            Kind::UniSse => "uni_sse",
            Kind::UniHttpStream => "uni_http_stream",
        },
        protocol: if client.wire.form == Form::Json { "json" } else { "protobuf" },
        user: &client.user,
        meta: client.meta.as_deref(),
    }
}

impl Hub {
    /// Asks what a client may do, or what its call comes to.
    pub(super) fn ask(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        proxy: &Proxy,
        event: &Event<'_>,
    ) -> Outcome {
        let Some(client) = self.clients.get(&id) else {
            return Outcome::Failed("the client is gone".into());
        };
        let Endpoint::Function(name) = &proxy.endpoint else {
            return Outcome::Failed("questions over HTTP are not supported yet".into());
        };
        let request = proxy::request(proxy, &caller(client), event);
        let mut words = vec![
            b"fcall".to_vec(),
            name.clone().into_bytes(),
            b"0".to_vec(),
            event.name().as_bytes().to_vec(),
            request,
        ];
        let engine = &cx.shared.engine;
        let reply = cx.thread.call_for_page(engine, &mut self.session, &mut words);
        match Value::of(&reply) {
            Value::Error(why) => {
                engine::log!(engine.log, Warning, "live: function {}: {}", name, why);
                Outcome::Failed(why)
            }
            Value::Nothing => Outcome::Answer(b"{}".to_vec()),
            other => Outcome::Answer(other.bytes().to_vec()),
        }
    }
}
