//! One connection's TLS, bytes in, bytes out.
//!
//! rustls's interface without buffers is used: an idle session holds its keys and nothing else, and the caller's
//! buffers, one per thread, are used for all of them.
//!
//! Invariant: `receive` takes all whole records of its input. What is left is the beginning of one, and is passed
//! again, in front of what follows, to `receive` and to `seal`: rustls remembers positions in it.

use std::sync::Arc;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedConnectionCommon,
    UnbufferedStatus,
};
use rustls::{ClientConfig, CommonState, ServerConfig};

use crate::Error;

/// Bytes that a record takes beside its content, at most, and what rustls may send of its own beside it.
pub(crate) const OVERHEAD: usize = 256;

/// Records without content that a peer may send one after the other.
const EMPTY_MAX: u32 = 64;

/// See the module's text.
pub struct Session {
    side: Side,
    /// Input without content since the last that had some.
    empty: u32,
}

enum Side {
    Server(Box<UnbufferedServerConnection>),
    Client(Box<UnbufferedClientConnection>),
}

/// How far a session has come with its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the input that are done with. The others must be passed again.
    pub consumed: usize,
    /// The peer has said that it sends nothing more.
    pub closed: bool,
}

impl Session {
    /// The server's side of a new connection.
    ///
    /// # Errors
    /// The configuration does not allow any session.
    pub fn server(config: Arc<ServerConfig>) -> Result<Self, Error> {
        let connection = UnbufferedServerConnection::new(config)?;
        Ok(Self { side: Side::Server(Box::new(connection)), empty: 0 })
    }

    /// The client's side of a new connection to `name`.
    ///
    /// # Errors
    /// The configuration does not allow any session.
    pub fn client(config: Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, Error> {
        let connection = UnbufferedClientConnection::new(config, name)?;
        Ok(Self { side: Side::Client(Box::new(connection)), empty: 0 })
    }

    fn common(&self) -> &CommonState {
        match &self.side {
            Side::Server(s) => s,
            Side::Client(c) => c,
        }
    }

    /// Whether bytes of the application cannot be exchanged yet.
    pub fn is_handshaking(&self) -> bool {
        self.common().is_handshaking()
    }

    /// The certificate that the peer has shown, if it has been checked.
    pub fn peer_certificate(&self) -> Option<&CertificateDer<'static>> {
        self.common().peer_certificates()?.first()
    }

    /// Whether it goes on where an earlier one ended.
    pub fn resumed(&self) -> bool {
        self.common().handshake_kind() == Some(rustls::HandshakeKind::Resumed)
    }

    /// Protocol and cipher, as OpenSSL and rustls name them: `TLSv1.3 TLS13_AES_256_GCM_SHA384`.
    pub fn describe(&self) -> String {
        let common = self.common();
        let version = match common.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
            _ => "unknown",
        };
        match common.negotiated_cipher_suite() {
            Some(suite) => format!("{version} {:?}", suite.suite()),
            None => version.to_owned(),
        }
    }

    /// Takes the whole records of `input`: what the peer's application says goes to `content`, and what has to be
    /// sent in answer is appended to `answer`.
    ///
    /// # Errors
    /// The session cannot go on. An alert for the peer may be in `answer`.
    pub fn receive(
        &mut self,
        input: &mut [u8],
        mut content: impl FnMut(&[u8]),
        answer: &mut Vec<u8>,
    ) -> Result<Progress, Error> {
        let mut any = false;
        let mut note = |bytes: &[u8]| {
            any = true;
            content(bytes);
        };
        let was_handshaking = self.is_handshaking();
        let progress = match &mut self.side {
            Side::Server(s) => receive(&mut ***s, input, &mut note, answer),
            Side::Client(c) => receive(&mut ***c, input, &mut note, answer),
        }?;
        self.empty = match any || was_handshaking || progress.consumed == 0 {
            true => 0,
            false => self.empty + 1,
        };
        if self.empty > EMPTY_MAX {
            return Err(Error::Empty);
        }
        Ok(progress)
    }

    /// Makes records of `content` and writes them to `records`. `rest` is what [`receive`](Self::receive) has left
    /// of the input. Returns the bytes written, or none when there is too little room, with nothing done: for each
    /// 16 KiB of content, `OVERHEAD` bytes are enough, and once as much more.
    ///
    /// # Errors
    /// The session is not established, or cannot go on.
    pub fn seal(
        &mut self,
        content: &[u8],
        rest: &mut [u8],
        records: &mut [u8],
    ) -> Result<Option<usize>, Error> {
        match &mut self.side {
            Side::Server(s) => send(&mut ***s, Some(content), rest, records),
            Side::Client(c) => send(&mut ***c, Some(content), rest, records),
        }
    }

    /// Writes the record that says that nothing more comes. As [`seal`](Self::seal).
    ///
    /// # Errors
    /// As for [`seal`](Self::seal).
    pub fn finish(&mut self, rest: &mut [u8], records: &mut [u8]) -> Result<Option<usize>, Error> {
        match &mut self.side {
            Side::Server(s) => send(&mut ***s, None, rest, records),
            Side::Client(c) => send(&mut ***c, None, rest, records),
        }
    }
}

/// What both sides have in common.
trait Records {
    type Data;

    fn process<'c, 'i>(&'c mut self, input: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl Records for UnbufferedConnectionCommon<ServerConnectionData> {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(&'c mut self, input: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(input)
    }
}

impl Records for UnbufferedConnectionCommon<ClientConnectionData> {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(&'c mut self, input: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(input)
    }
}

fn receive(
    connection: &mut impl Records,
    input: &mut [u8],
    content: &mut dyn FnMut(&[u8]),
    answer: &mut Vec<u8>,
) -> Result<Progress, Error> {
    let (mut consumed, mut closed) = (0, false);
    loop {
        let UnbufferedStatus { discard, state } = connection.process(&mut input[consumed..]);
        let state = match state {
            Ok(state) => state,
            Err(e) => {
                // The alert for it, if there is one.
                consumed += discard;
                if let UnbufferedStatus {
                    state: Ok(ConnectionState::EncodeTlsData(mut data)),
                    ..
                } = connection.process(&mut input[consumed..])
                {
                    // The first error says more.
                    let _ = encode(&mut data, answer);
                }
                return Err(e.into());
            }
        };
        match state {
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    content(record?.payload);
                }
            }
            ConnectionState::EncodeTlsData(mut data) => encode(&mut data, answer)?,
            ConnectionState::TransmitTlsData(data) => data.done(),
            ConnectionState::PeerClosed => closed = true,
            // Early data is not offered; what it says could be repeated by others.
            _ => {
                consumed += discard;
                return Ok(Progress { consumed, closed });
            }
        }
        consumed += discard;
    }
}

fn encode<D>(data: &mut EncodeTlsData<'_, D>, answer: &mut Vec<u8>) -> Result<(), Error> {
    let failed = || rustls::Error::General("a handshake message was encoded twice".into());
    let Err(EncodeError::InsufficientSize(size)) = data.encode(&mut []) else { return Ok(()) };
    let len = answer.len();
    answer.resize(len + size.required_size, 0);
    data.encode(&mut answer[len..]).map_err(|_| failed())?;
    Ok(())
}

fn send(
    connection: &mut impl Records,
    content: Option<&[u8]>,
    rest: &mut [u8],
    records: &mut [u8],
) -> Result<Option<usize>, Error> {
    let not_yet = || Error::Protocol(rustls::Error::HandshakeNotComplete);
    let mut written = 0;
    loop {
        match connection.process(rest).state? {
            ConnectionState::WriteTraffic(mut traffic) => {
                let to = &mut records[written..];
                let done = match content {
                    Some(content) => traffic.encrypt(content, to),
                    None => traffic.queue_close_notify(to),
                };
                return match done {
                    Ok(n) => Ok(Some(written + n)),
                    Err(EncryptError::InsufficientSize(_)) if written == 0 => Ok(None),
                    // It cannot be taken back: the caller gives room for this.
                    Err(EncryptError::InsufficientSize(_)) => Err(not_yet()),
                    Err(EncryptError::EncryptExhausted) => {
                        Err(Error::Protocol(rustls::Error::EncryptError))
                    }
                };
            }
            ConnectionState::EncodeTlsData(mut data) => {
                match data.encode(&mut records[written..]) {
                    Ok(n) => written += n,
                    Err(_) => return Err(not_yet()),
                }
            }
            ConnectionState::TransmitTlsData(data) => data.done(),
            // It closes its side only.
            ConnectionState::PeerClosed => {}
            _ => return Err(not_yet()),
        }
    }
}
