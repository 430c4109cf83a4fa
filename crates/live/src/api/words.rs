//! The server API as commands: `LIVE.PUBLISH channel data DELTA` is the request that
//! `POST /api/publish {"channel", "data", "delta": true}` is.
//!
//! Options follow the arguments in any order, each a word that is not case-sensitive, with its values. Every command
//! but INFO also takes the JSON of HTTP as its only argument.
//!
//! | command | arguments | options |
//! |---|---|---|
//! | `LIVE.PUBLISH` | `channel data` | those of publications |
//! | `LIVE.BROADCAST` | `number channel … data` | those of publications |
//! | `LIVE.SUBSCRIBE` | `channel` | those of connections, `EXPIREAT s`, `INFO json`, `DATA json`, `SINCE offset epoch` |
//! | `LIVE.UNSUBSCRIBE` | `[channel]` | those of connections |
//! | `LIVE.DISCONNECT` | | those of connections, `CODE code`, `REASON text`, `EXCEPT client` |
//! | `LIVE.REFRESH` | | those of connections, `EXPIRED`, `EXPIREAT s`, `INFO json` |
//! | `LIVE.PRESENCE`, `LIVE.PRESENCE_STATS`, `LIVE.HISTORY_REMOVE` | `channel` | |
//! | `LIVE.HISTORY` | `channel` | `LIMIT n`, `SINCE offset epoch`, `REVERSE` |
//! | `LIVE.CHANNELS` | `[pattern]` | |
//! | `LIVE.INFO` | | |
//!
//! The data of a publication are JSON. With the option `BINARY` they are bytes, as `b64data` is in JSON: only clients
//! of Protobuf can be sent them, others are closed (3506).
//!
//! Those of publications: `BINARY`, `TAG name value`, `ID key`, `DELTA`, `NOHISTORY`, `VERSION n`, `VERSIONEPOCH epoch`. Those of
//! connections: `USER user`, `CLIENT client`, `SESSION session`.

use super::request::{
    ApiError, Body, Broadcast, DisconnectUser, History, Method, Position, Publication, Publish,
    Refresh, Request, Subscribe, Target, Unsubscribe,
};
use crate::code::Disconnect;
use crate::publication::is_json;

type Result<T> = std::result::Result<T, ApiError>;

/// The words of a command, from the left.
struct Words<'a>(std::slice::Iter<'a, &'a [u8]>);

fn bad(why: impl Into<String>) -> ApiError {
    ApiError::BAD_REQUEST.because(why)
}

impl<'a> Words<'a> {
    fn bytes(&mut self, name: &str) -> Result<&'a [u8]> {
        self.0.next().copied().ok_or_else(|| bad(format!("{name} is missing")))
    }

    fn text(&mut self, name: &str) -> Result<String> {
        let bytes = self.bytes(name)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| bad(format!("{name} is not UTF-8")))
    }

    fn number<T: std::str::FromStr>(&mut self, name: &str) -> Result<T> {
        self.text(name)?.parse().map_err(|_| bad(format!("{name} is no integer, or out of range")))
    }

    /// JSON, or bytes that become no part of it.
    fn json(&mut self, name: &str) -> Result<Vec<u8>> {
        let bytes = self.bytes(name)?;
        if is_json(bytes) { Ok(bytes.to_vec()) } else { Err(bad(format!("{name} is not JSON"))) }
    }

    fn channel(&mut self) -> Result<String> {
        let channel = self.text("the channel")?;
        if channel.is_empty() { Err(bad("the channel is empty")) } else { Ok(channel) }
    }

    fn position(&mut self) -> Result<Position> {
        Ok(Position { offset: self.number("the offset")?, epoch: self.text("the epoch")? })
    }

    /// Reads options until the end: `option` takes one by its name in capitals, or says that it knows none.
    fn options(&mut self, mut option: impl FnMut(&mut Self, &str) -> Result<bool>) -> Result<()> {
        while let Some(word) = self.0.next() {
            let name = String::from_utf8_lossy(word).to_ascii_uppercase();
            if !option(self, &name)? {
                return Err(bad(format!("{} is no option of the command", name.escape_debug())));
            }
        }
        Ok(())
    }
}

/// Reads the arguments of a command.
///
/// # Errors
/// [`ApiError::BAD_REQUEST`] with a text that says which argument; [`ApiError::NOT_FOUND`]: the method is no command.
pub fn from_words(method: Method, words: &[&[u8]]) -> Result<Request> {
    if let [json] = words
        && json.starts_with(b"{")
        && !matches!(method, Method::Batch | Method::Info)
    {
        return match super::decode(method, json).map_err(ApiError::from)? {
            Body::One(request) => Ok(request),
            Body::Batch { .. } => Err(ApiError::NOT_FOUND),
        };
    }
    let mut words = Words(words.iter());
    let request = read(method, &mut words)?;
    if words.0.len() > 0 { Err(bad("there are too many arguments")) } else { Ok(request) }
}

fn read(method: Method, words: &mut Words<'_>) -> Result<Request> {
    Ok(match method {
        Method::Publish => {
            let (channel, data) = (words.channel()?, words.bytes("data")?);
            Request::Publish(Publish { channel, publication: publication(words, data)? })
        }
        Method::Broadcast => {
            let count: usize = words.number("the number of channels")?;
            if count == 0 || count > words.0.len() {
                return Err(bad("the number of channels does not fit the arguments"));
            }
            let channels = (0..count).map(|_| words.text("a channel")).collect::<Result<_>>()?;
            let data = words.bytes("data")?;
            Request::Broadcast(Broadcast { channels, publication: publication(words, data)? })
        }
        Method::Subscribe => Request::Subscribe(subscribe(words)?),
        Method::Unsubscribe => Request::Unsubscribe(unsubscribe(words)?),
        Method::Disconnect => Request::Disconnect(disconnect(words)?),
        Method::Refresh => Request::Refresh(refresh(words)?),
        Method::Presence => Request::Presence { channel: words.channel()? },
        Method::PresenceStats => Request::PresenceStats { channel: words.channel()? },
        Method::HistoryRemove => Request::HistoryRemove { channel: words.channel()? },
        Method::History => Request::History(history(words)?),
        Method::Channels => {
            let pattern =
                if words.0.len() > 0 { words.text("the pattern")? } else { String::new() };
            Request::Channels { pattern }
        }
        Method::Info => Request::Info,
        Method::Batch | Method::Rpc => return Err(ApiError::NOT_FOUND),
    })
}

fn publication(words: &mut Words<'_>, data: &[u8]) -> Result<Publication> {
    let mut made = Publication { data: data.to_vec(), ..Publication::default() };
    let mut is_binary = false;
    words.options(|words, option| {
        match option {
            "BINARY" => is_binary = true,
            "TAG" => {
                let name = words.text("the tag's name")?;
                made.tags.retain(|(known, _)| *known != name);
                made.tags.push((name, words.text("the tag's value")?));
            }
            "ID" => made.idempotency_key = words.text("the key")?,
            "DELTA" => made.delta = true,
            "NOHISTORY" => made.skip_history = true,
            "VERSION" => made.version = words.number("the version")?,
            "VERSIONEPOCH" => made.version_epoch = words.text("the version's epoch")?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if !is_binary && !is_json(data) {
        return Err(bad("the data are not JSON; for bytes there is the option BINARY"));
    }
    Ok(made)
}

/// Takes an option of connections.
fn target(target: &mut Target, words: &mut Words<'_>, option: &str) -> Result<bool> {
    let field = match option {
        "USER" => &mut target.user,
        "CLIENT" => &mut target.client,
        "SESSION" => &mut target.session,
        _ => return Ok(false),
    };
    *field = words.text(option)?;
    Ok(true)
}

fn subscribe(words: &mut Words<'_>) -> Result<Subscribe> {
    let mut made = Subscribe { channel: words.channel()?, ..Subscribe::default() };
    words.options(|words, option| {
        match option {
            "EXPIREAT" => made.expire_at = words.number("the time")?,
            "INFO" => made.info = words.json("the info")?,
            "DATA" => made.data = words.json("the data")?,
            "SINCE" => made.recover_since = Some(words.position()?),
            other => return target(&mut made.target, words, other),
        }
        Ok(true)
    })?;
    Ok(made)
}

fn unsubscribe(words: &mut Words<'_>) -> Result<Unsubscribe> {
    let mut made = Unsubscribe::default();
    // Each option has a value: with an odd count of words the first is the channel.
    if words.0.len() % 2 == 1 {
        made.channel = words.text("the channel")?;
    }
    words.options(|words, option| target(&mut made.target, words, option))?;
    Ok(made)
}

fn disconnect(words: &mut Words<'_>) -> Result<DisconnectUser> {
    let told = Disconnect::FORCE_NO_RECONNECT;
    let mut made =
        DisconnectUser { target: Target::default(), disconnect: told, whitelist: Vec::new() };
    words.options(|words, option| {
        match option {
            "CODE" => made.disconnect.code = words.number("the code")?,
            "REASON" => made.disconnect.reason = words.text("the reason")?.into(),
            "EXCEPT" => made.whitelist.push(words.text("the client")?),
            other => return target(&mut made.target, words, other),
        }
        Ok(true)
    })?;
    made.check()?;
    Ok(made)
}

fn refresh(words: &mut Words<'_>) -> Result<Refresh> {
    let mut made = Refresh::default();
    words.options(|words, option| {
        match option {
            "EXPIRED" => made.expired = true,
            "EXPIREAT" => made.expire_at = words.number("the time")?,
            "INFO" => made.info = words.json("the info")?,
            other => return target(&mut made.target, words, other),
        }
        Ok(true)
    })?;
    Ok(made)
}

fn history(words: &mut Words<'_>) -> Result<History> {
    let mut made = History { channel: words.channel()?, ..History::default() };
    words.options(|words, option| {
        match option {
            "LIMIT" => made.limit = words.number("the limit")?,
            "SINCE" => made.since = Some(words.position()?),
            "REVERSE" => made.reverse = true,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::from_words;
    use crate::api::{Body, Method, Request, decode};

    fn words(method: Method, line: &str) -> Result<Request, u32> {
        let words: Vec<&[u8]> =
            line.split(' ').filter(|word| !word.is_empty()).map(str::as_bytes).collect();
        from_words(method, &words).map_err(|error| error.code)
    }

    #[test]
    fn commands_are_the_same_requests_as_json() {
        for (method, line, json) in [
            (
                Method::Publish,
                "c [1] TAG k v tag k w ID i DELTA nohistory VERSION 3 VERSIONEPOCH e",
                r#"{"channel":"c","data":[1],"tags":{"k":"w"},"idempotency_key":"i","delta":true,"skip_history":true,"version":3,"version_epoch":"e"}"#,
            ),
            (Method::Broadcast, "2 a b 7", r#"{"channels":["a","b"],"data":7}"#),
            (Method::Publish, "c {x binary", r#"{"channel":"c","b64data":"e3g="}"#),
            (Method::Publish, "c 1 BINARY", r#"{"channel":"c","data":1}"#),
            (
                Method::Subscribe,
                "c USER u CLIENT x SESSION s EXPIREAT 9 INFO {} DATA [] SINCE 4 e",
                r#"{"channel":"c","user":"u","client":"x","session":"s","expire_at":9,"info":{},"data":[],"recover_since":{"offset":4,"epoch":"e"}}"#,
            ),
            (Method::Unsubscribe, "c USER u", r#"{"channel":"c","user":"u"}"#),
            (Method::Unsubscribe, "USER u", r#"{"user":"u"}"#),
            (
                Method::Disconnect,
                "USER u CODE 4000 REASON r EXCEPT a EXCEPT b",
                r#"{"user":"u","disconnect":{"code":4000,"reason":"r"},"whitelist":["a","b"]}"#,
            ),
            (
                Method::Refresh,
                "USER u EXPIRED EXPIREAT 5 INFO 1",
                r#"{"user":"u","expired":true,"expire_at":5,"info":1}"#,
            ),
            (Method::Presence, "c", r#"{"channel":"c"}"#),
            (
                Method::History,
                "c LIMIT -1 SINCE 4 e REVERSE",
                r#"{"channel":"c","limit":-1,"since":{"offset":4,"epoch":"e"},"reverse":true}"#,
            ),
            (Method::Channels, "a*", r#"{"pattern":"a*"}"#),
            (Method::Info, "", "{}"),
        ] {
            let Ok(Body::One(request)) = decode(method, json.as_bytes()) else { panic!("{json}") };
            assert_eq!(words(method, line), Ok(request.clone()), "{line}");
            if method != Method::Info {
                assert_eq!(from_words(method, &[json.as_bytes()]), Ok(request), "{json}");
            }
        }
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for (method, line, code) in [
            (Method::Publish, "c", 107),
            (Method::Publish, "c 1 WHAT", 107),
            (Method::Publish, "c {x", 107),
            (Method::Publish, "c {x DELTA", 107),
            (Method::Broadcast, "1 c text", 107),
            (Method::Publish, "c 1 TAG k", 107),
            (Method::Publish, "c 1 VERSION x", 107),
            (Method::Broadcast, "3 a b 7", 107),
            (Method::Broadcast, "0 7", 107),
            (Method::Broadcast, "99999999999999999999 a 7", 107),
            (Method::Subscribe, "c INFO {", 107),
            (Method::Presence, "c d", 107),
            (Method::Disconnect, "CODE 1", 107),
            (Method::Rpc, "m", 104),
            (Method::Batch, "x", 104),
        ] {
            assert_eq!(words(method, line).map(|_| ()), Err(code), "{line}");
        }
        assert_eq!(from_words(Method::Presence, &[b"\xff"]).map_err(|error| error.code), Err(107));
        assert_eq!(from_words(Method::Presence, &[b""]).map_err(|error| error.code), Err(107));
    }
}
