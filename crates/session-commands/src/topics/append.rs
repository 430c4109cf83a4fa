//! TOPIC.APPEND

use ::log::{Appended, Error, Input};
use commands::row::{Flags, Row};
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::{APPENDS, BASE, command, name};
use crate::pending_reply::{PendingReply, fail};
use engine::TakeInput;
use engine::{Call, SessionCommand};

/// Bytes from which on records are taken with the input that they are in, rather than copied out of it.
const LENT_MIN: usize = 128 << 10;

pub(super) static APPEND: SessionCommand = command(
    Row {
        name: "topic.append",
        arity: -4,
        flags: Flags::BLOCKING.or(BASE.flags),
        complexity: "O(N) where N is the number of records",
        summary: "Appends records to a topic, and answers the offset of the first when they are stored.",
        syntax: "TOPIC.APPEND topic:key [PRODUCER producer sequence] RECORDS record [record ...]",
        transcript: r#"
# What is stored is answered later: crates/server/tests/topics/.
# only: apus
> TOPIC.APPEND .fruit RECORDS apple
(error) ERR a topic or group's name is 1 to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot
> TOPIC.APPEND fruit apple pear
(error) ERR syntax error
> TOPIC.APPEND fruit PRODUCER 0 1 RECORDS apple
(error) ERR producer must be a positive integer, sequence 0 or greater
"#,
        ..APPENDS
    },
    |call: &mut Call<'_>, args: &mut Args<'_>, _: &mut Reply<'_>| -> Outcome {
        let topic = name(args, 1)?;
        let (numbered, from) = if args.is(2, "producer") {
            let number = |i: usize| {
                args.get(i).and_then(stdx::num::parse_i64).and_then(|n| u64::try_from(n).ok())
            };
            let (Some(producer @ 1..), Some(sequence)) = (number(3), number(4)) else {
                return Err(Fail::text(
                    "ERR producer must be a positive integer, sequence 0 or greater",
                ));
            };
            (Some((producer, sequence)), 5)
        } else {
            (None, 2)
        };
        if !args.is(from, "records") || args.len() <= from + 1 {
            return Err(Fail::SYNTAX);
        }
        let all: &Args<'_> = args;
        let records = all.iter_from(from + 1);
        let input = match all.places(from + 1).filter(|_| all.bytes() >= LENT_MIN) {
            Some(places) => Err(places),
            None => Ok(Input::from_records(records).map_err(|e| fail(&e))?),
        };
        let broker = call.engine.topics.open(call.engine).map_err(|e| fail(&e))?;
        let pending = PendingReply::wait(call, ["TOPIC.APPEND", &topic], None)?;
        let done = Box::new(move |result: Result<Appended, Error>| {
            pending.answer(|reply| {
                let a = result.map_err(|e| fail(&e))?;
                reply.int(a.first_offset as i64);
                Ok(())
            });
        });
        let by = move |input: Input| match numbered {
            Some((producer, sequence)) => input.by(producer, sequence),
            None => input,
        };
        match input {
            Ok(input) => broker.append(&topic, by(input), None, done),
            Err(places) => {
                let broker = broker.clone();
                call.session.take_input =
                    Some(Box::new(TakeInput::new(move |mut buffer: Vec<u8>| {
                        // Its memory is counted by its records.
                        if buffer.capacity() > 2 * buffer.len() {
                            buffer.shrink_to_fit();
                        }
                        match Input::from_buffer(broker.lend(buffer), places) {
                            Ok(input) => broker.append(&topic, by(input), None, done),
                            Err(e) => done(Err(e)),
                        }
                    })));
            }
        }
        Ok(())
    },
);
