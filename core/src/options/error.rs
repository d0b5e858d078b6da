//! What can be wrong with an option, said in the words of the app's language.

use serde_json::Value;

use super::Surface;
use super::nearest::nearest;

/// Why options were refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// There is no such option.
    #[error("unknown option {name:?}{hint}")]
    Unknown {
        /// The name as it was written.
        name: String,
        /// What to do instead, ready to be appended.
        hint: String,
    },
    /// The value is of the wrong type or out of range.
    #[error("option {name:?} is {value}, but must be {expected}")]
    Invalid {
        /// The option, spelled as the app's language does.
        name: String,
        /// The value, cut if it is long.
        value: String,
        /// What would be accepted.
        expected: String,
    },
    /// Options that do not go together, or one that is missing.
    #[error("{problem}")]
    Conflict {
        /// The option that has to change, spelled as the app's language does.
        name: String,
        /// What is wrong.
        problem: String,
    },
}

impl OptionError {
    /// The option that is wrong, as the app's language spells it.
    pub fn name(&self) -> &str {
        match self {
            OptionError::Unknown { name, .. }
            | OptionError::Invalid { name, .. }
            | OptionError::Conflict { name, .. } => name,
        }
    }

    /// An option that does not exist. `elsewhere` are the names that would be right in another place, called `place`.
    pub(crate) fn unknown<'a>(
        written: &str,
        surface: Surface,
        known: impl Iterator<Item = &'a str>,
        mut elsewhere: impl Iterator<Item = &'a str>,
        place: &str,
    ) -> OptionError {
        let hint = if elsewhere.any(|name| surface.spells(name, written)) {
            format!("; it is an option of {place}")
        } else {
            match nearest(written, known) {
                Some(name) => format!("; did you mean {:?}?", surface.spell(name)),
                None => String::new(),
            }
        };
        OptionError::Unknown { name: written.chars().take(SHOWN).collect(), hint }
    }

    /// Python has keyword arguments, and whoever writes an input as such is told how it goes.
    pub(crate) fn or_an_input(self, surface: Surface) -> OptionError {
        match self {
            OptionError::Unknown { name, hint } if hint.is_empty() && surface == Surface::Python => {
                let hint = format!("; an input is one value, such as {{{name:?}: ...}}");
                OptionError::Unknown { name, hint }
            }
            OptionError::Unknown { .. } | OptionError::Invalid { .. } | OptionError::Conflict { .. } => self,
        }
    }

    pub(crate) fn invalid(name: &str, surface: Surface, value: &Value, expected: String) -> OptionError {
        OptionError::Invalid { name: surface.spell(name).into_owned(), value: surface.show(value), expected }
    }

    pub(crate) fn conflict(name: &str, surface: Surface, problem: String) -> OptionError {
        OptionError::Conflict { name: surface.spell(name).into_owned(), problem }
    }
}

const SHOWN: usize = 80;
