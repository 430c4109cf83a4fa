//! A command line as words: options, their values, and the rest. What an option means is for the tool to say.

use lexopt::{Arg, Parser};

/// The next word.
pub enum Word {
    /// An option as it is written, without its value: `-n`, `--dir`.
    Option(String),
    /// Any other word.
    Text(String),
}

/// The words that have not been read.
pub struct Words(Parser);

impl Words {
    /// All of these.
    pub fn new(args: &[String]) -> Self {
        Self(Parser::from_args(args))
    }

    /// The next one.
    ///
    /// # Errors
    /// The option before has a value (`--quiet=yes`) and takes none.
    #[expect(
        clippy::should_implement_trait,
        reason = "it is no iterator: a value is read between two words"
    )]
    pub fn next(&mut self) -> Result<Option<Word>, String> {
        let word = self.0.next().map_err(|e| e.to_string())?;
        Ok(word.map(|word| match word {
            Arg::Short(c) => Word::Option(format!("-{c}")),
            Arg::Long(name) => Word::Option(format!("--{name}")),
            Arg::Value(text) => Word::Text(text.to_string_lossy().into_owned()),
        }))
    }

    /// The value of the option that was read last: the next word, or what the option has behind it
    /// (`--keys=5`, `-n5`).
    ///
    /// # Errors
    /// No value follows the option.
    pub fn value(&mut self, option: &str) -> Result<String, String> {
        let value = self.0.value().map_err(|_| format!("{option} needs a value"))?;
        Ok(value.to_string_lossy().into_owned())
    }

    /// All other words as they are.
    pub fn rest(&mut self) -> Vec<String> {
        let words = self.0.raw_args().into_iter().flatten();
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }
}
