//! Requests whose answer is a stream, and the turn of the producers that append to streams.

use std::sync::Arc;

use engine::Thread;
use http1::Head;
use resp::Out;

use super::counts::NONE;
use super::{After, Responder};
use crate::Shared;
use crate::live::{self, Cx, Hub};
use crate::net::Outlets;

impl Responder {
    /// Answers a request that begins a stream or belongs to live channels; none: it is for a page.
    pub(super) fn stream(
        &mut self,
        shared: &Arc<Shared>,
        thread: &mut Thread,
        head: &Head<'_>,
        body: &[u8],
        out: &mut Out,
    ) -> Option<After> {
        #[cfg(test)]
        if head.target.path == "/.trivial" {
            return Some(tests::begin(self, head, out));
        }
        if let Some(own) = self.own(shared, thread, head, out) {
            return Some(own);
        }
        let after = live::answer(self, shared, thread, (head, body), out)?;
        (self.sent.row, self.sent.status) = (NONE, 200);
        Some(after)
    }

    /// The live channels of this thread, and the outlets that they append to; none: they are off.
    pub(crate) fn hub(
        &mut self,
        shared: &Arc<Shared>,
        thread: &Thread,
    ) -> Option<(&mut Hub, &mut Outlets)> {
        let live = shared.live.as_ref()?;
        let hub = self.hub.get_or_insert_with(|| Hub::new(shared, live, thread));
        Some((hub, &mut self.outlets))
    }

    /// Called once in each turn of the event loop, behind all commands and messages of the turn: producers
    /// append what these have come to.
    pub(crate) fn turn(&mut self, shared: &Arc<Shared>, thread: &mut Thread) {
        if thread.index == 0 {
            // It speaks with other servers even when it has no client.
            self.hub(shared, thread);
        }
        if let Some(hub) = &mut self.hub {
            hub.turn(&mut Cx { shared, thread, outlets: &mut self.outlets });
        }
        self.live_turn(shared, thread);
    }

    /// Called when the journal has been given the changes of the turn: messages that have waited for it go out.
    pub(crate) fn journaled(&mut self, shared: &Arc<Shared>, thread: &mut Thread) {
        if let Some(hub) = &mut self.hub
            && hub.has_held()
        {
            // Announced before the look at how far the journal is, so that it wakes this thread when it is further.
            thread.worker().wake_request.announce();
            hub.release(&mut Cx { shared, thread, outlets: &mut self.outlets });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::SeqCst;

    use http1::response;

    use super::*;
    use crate::net::Bound;
    use crate::web::{At, Streaming};

    /// Answers `a` with `A`, behind the turn; all of a burst at `f`, and then more; ends at `q`.
    struct Trivial {
        floods: bool,
    }

    static SLOW: AtomicUsize = AtomicUsize::new(0);
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    const CAP: usize = 1000;
    const BURST: usize = 16 << 20;

    pub(super) fn begin(responder: &Responder, head: &Head<'_>, out: &mut Out) -> After {
        response::begin(&mut out.buf, 200, &responder.date);
        response::end(&mut out.buf, false, head.minor);
        After::Streams(Box::new(Trivial { floods: false }), CAP)
    }

    impl Streaming for Trivial {
        fn begin(&mut self, at: &mut At<'_>) {
            assert!(at.web.outlets.append(at.id, b"hello\n"));
        }

        fn input(&mut self, at: &mut At<'_>, bytes: &[u8]) -> usize {
            for (i, b) in bytes.iter().enumerate() {
                match b {
                    b'f' => {
                        self.floods = true;
                        assert!(at.web.outlets.append(at.id, &vec![b'x'; BURST]));
                        at.web.outlets.call_at(at.id, at.thread.cx.now + 1);
                    }
                    b'q' => at.web.outlets.end(at.id, b"bye\n"),
                    // Taken only when the next byte is there.
                    b'2' if i + 1 == bytes.len() => return i,
                    _ => assert!(at.web.outlets.append(at.id, &[b.to_ascii_uppercase()])),
                }
            }
            bytes.len()
        }

        fn due(&mut self, at: &mut At<'_>) {
            assert!(self.floods);
            assert!(!at.web.outlets.append(at.id, &[b'y'; CAP + 1]), "the client has not read");
        }

        fn slow(&mut self, at: &mut At<'_>) {
            at.web.outlets.end(at.id, b"slow\n");
            SLOW.fetch_add(1, SeqCst);
        }

        fn stop(&mut self, at: &mut At<'_>) {
            at.web.outlets.end(at.id, b"stop\n");
        }

        fn ended(&mut self, at: &mut At<'_>) {
            assert!(!at.web.outlets.append(at.id, b"x"), "it is gone");
            ENDED.fetch_add(1, SeqCst);
        }
    }

    fn connect(to: std::net::SocketAddr) -> TcpStream {
        let mut c = TcpStream::connect(to).expect("a connection");
        c.write_all(b"GET /.trivial HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
        let mut got = Vec::new();
        while !got.ends_with(b"\r\n\r\nhello\n") {
            let mut byte = [0];
            c.read_exact(&mut byte).expect("the head, and the beginning");
            got.push(byte[0]);
        }
        assert!(got.starts_with(b"HTTP/1.1 200 OK\r\n"));
        c
    }

    fn rest(mut c: TcpStream) -> Vec<u8> {
        let mut got = Vec::new();
        c.read_to_end(&mut got).expect("an end");
        got
    }

    #[test]
    fn a_stream_is_appended_to_is_bounded_and_ends() {
        testing::leave_the_sources();
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        let to = listener.local_addr().expect("its address");
        let mut builder = crate::Server::builder().option("threads", "1").expect("an option");
        builder.bound.push(Bound::Web(listener));
        let server = builder.start().expect("a server");

        let mut c = connect(to);
        c.write_all(b"ab").expect("written");
        let mut two = [0; 2];
        c.read_exact(&mut two).expect("an answer");
        assert_eq!(&two, b"AB");
        c.write_all(b"2").expect("written");
        c.write_all(b"2q").expect("written");
        let end = rest(c);
        assert_eq!(end, b"22bye\n");

        let mut flooded = connect(to);
        flooded.write_all(b"f").expect("written");
        // It is read only when the server has given it up.
        testing::eventually("the end of a slow client", || (SLOW.load(SeqCst) == 1).then_some(()));
        let end = rest(flooded);
        assert!(end.len() == BURST + 5 && end.ends_with(b"xslow\n"), "{}", end.len());

        drop(connect(to));
        testing::eventually("three ends", || (ENDED.load(SeqCst) == 3).then_some(()));
        let stays = connect(to);
        server.stop();
        assert_eq!(rest(stays), b"stop\n");
        server.join();
        assert_eq!(ENDED.load(SeqCst), 4);
    }
}
