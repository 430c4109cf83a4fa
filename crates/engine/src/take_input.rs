//! Input that a command keeps: a megabyte of records need not be copied out of the buffer that it arrived
//! in, if the owner of that buffer has no other use for it.

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
