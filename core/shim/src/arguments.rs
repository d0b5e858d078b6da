//! What the shim was asked to do: its command line, read once.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::limits::Limit;

/// The two things that the shim can be.
#[derive(Debug, PartialEq)]
pub(crate) enum Mode {
    /// Become a worker.
    Exec(Order),
    /// Wait for the host's end, then kill what is left.
    Reap,
}

/// How the worker is to be started.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Order {
    /// The host; a shim whose parent is another process has lost it already.
    pub(crate) parent: Option<i32>,
    /// Where the worker starts; the shim's own directory if none.
    pub(crate) directory: Option<PathBuf>,
    pub(crate) limits: Vec<Limit>,
    /// Descriptors above 2 that the worker inherits.
    pub(crate) keep: Vec<RawFd>,
    /// The program, searched in PATH if it has no slash, and its arguments; never empty.
    pub(crate) argv: Vec<CString>,
}

impl Mode {
    /// Reads the arguments after the program's name. The error is a sentence for a person.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Mode, String> {
        match arguments.next() {
            Some(mode) if mode == "exec" => Order::parse(arguments).map(Mode::Exec),
            Some(mode) if mode == "reap" => Ok(Mode::Reap),
            Some(mode) => Err(format!("unknown mode {mode:?}, expected \"exec\" or \"reap\"")),
            None => Err("expected \"exec\" or \"reap\"; this program is started by Ganger".to_owned()),
        }
    }
}

impl Order {
    fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Order, String> {
        let mut order = Order::default();
        loop {
            let option = arguments.next().ok_or("expected \"--\" and a program")?;
            if option == "--" {
                break;
            }
            let value = arguments.next().ok_or_else(|| format!("{option:?} needs a value"))?;
            order.set(&option, value)?;
        }
        order.argv = arguments.map(c_string).collect::<Result<_, _>>()?;
        if order.argv.is_empty() { Err("expected a program after \"--\"".to_owned()) } else { Ok(order) }
    }

    fn set(&mut self, option: &OsStr, value: OsString) -> Result<(), String> {
        match option.as_bytes() {
            b"--parent" => self.parent = Some(number(text(&value)?)?),
            b"--directory" => self.directory = Some(PathBuf::from(value)),
            b"--limit" => self.limits.push(Limit::parse(text(&value)?)?),
            b"--keep" => {
                self.keep = text(&value)?.split(',').map(number).collect::<Result<_, _>>()?;
            }
            _ => return Err(format!("unknown option {option:?}")),
        }
        Ok(())
    }
}

fn text(value: &OsStr) -> Result<&str, String> {
    value.to_str().ok_or_else(|| format!("{value:?} is not text"))
}

fn number(digits: &str) -> Result<i32, String> {
    match digits.parse() {
        Ok(number) if number >= 0 => Ok(number),
        Ok(_) | Err(_) => Err(format!("{digits:?} is not a number that a process or descriptor can have")),
    }
}

fn c_string(argument: OsString) -> Result<CString, String> {
    CString::new(argument.into_vec()).map_err(|_| "an argument has a zero byte".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Mode, String> {
        Mode::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn reads_every_option() {
        let Ok(Mode::Exec(order)) =
            parse("exec --parent 42 --directory /srv --limit data=1024 --keep 3,4 -- python3 -u --keep 9")
        else {
            panic!("expected an order")
        };
        assert_eq!(order.parent, Some(42));
        assert_eq!(order.directory, Some(PathBuf::from("/srv")));
        assert_eq!(order.limits, [Limit::parse("data=1024").unwrap()]);
        assert_eq!(order.keep, [3, 4]);
        assert_eq!(order.argv, [c"python3", c"-u", c"--keep", c"9"].map(CString::from));
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        for (line, part) in [
            ("", "expected"),
            ("fly", "unknown mode"),
            ("exec", "expected \"--\""),
            ("exec --", "expected a program"),
            ("exec --parent -- true", "not a number"),
            ("exec --keep 3,x -- true", "not a number"),
            ("exec --keep -1 -- true", "not a number"),
            ("exec --limit data -- true", "RESOURCE=BYTES"),
            ("exec --limit moon=1 -- true", "unknown resource"),
            ("exec --colour red -- true", "unknown option"),
        ] {
            let mistake = parse(line).expect_err(line);
            assert!(mistake.contains(part), "{line:?} gave {mistake:?}");
        }
    }
}
