//! Input that a command keeps: a megabyte of records need not be copied out of the buffer that it arrived
//! in, if the owner of that buffer has no other use for it.

use resp::{Out, Parser};

use crate::engine::Engine;
use crate::session::Session;
use crate::thread::{Batch, Thread};

/// Takes over, for a command, the input that its arguments lie in.
pub struct TakeInput(Box<dyn FnOnce(Vec<u8>) + Send>);

impl TakeInput {
    /// Calls `take` with the input.
    pub fn new(take: impl FnOnce(Vec<u8>) + Send + 'static) -> Self {
        Self(Box::new(take))
    }

    /// Gives the input as far as it has been consumed, or a copy of that.
    pub fn give(self, input: Vec<u8>) {
        (self.0)(input);
    }
}

impl Thread {
    /// Executes the commands at the start of `input` and appends their replies to `out`.
    pub fn run(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        parser: &mut Parser,
        input: &[u8],
        out: &mut Out,
    ) -> Batch {
        let batch = self.run_and_give(engine, session, parser, input, out);
        if let Some(taker) = session.take_input.take() {
            taker.give(input[..batch.consumed].to_vec());
        }
        batch
    }
}
