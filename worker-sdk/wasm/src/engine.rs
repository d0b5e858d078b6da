//! What executes modules. Both engines offer the same: [`Module`] is compiled code, [`Instance`] runs it. Whoever runs it is asked
//! again and again whether it may go on ([`Host::go_on`](crate::host::Host::go_on)).

#[cfg(not(any(feature = "wasmi", feature = "wasmtime")))]
compile_error!("ganger-wasm takes one of the features `wasmi` and `wasmtime`");

#[cfg(all(feature = "wasmi", not(feature = "wasmtime")))]
mod wasmi;
#[cfg(feature = "wasmtime")]
mod wasmtime;

#[cfg(all(feature = "wasmi", not(feature = "wasmtime")))]
pub(crate) use self::wasmi::{Instance, Module, NAME};
#[cfg(feature = "wasmtime")]
pub(crate) use self::wasmtime::{Instance, Module, NAME};

/// What a module exports under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Signature {
    Memory,
    /// Its type, such as `(i32, i32) -> i64`.
    Function(String),
    Other,
}

impl std::fmt::Display for Signature {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => formatter.write_str("a memory"),
            Self::Function(signature) => formatter.write_str(signature),
            Self::Other => formatter.write_str("neither a memory nor a function"),
        }
    }
}

/// The type of a function from the names of what goes in and what comes out.
fn signature(parameters: &[&str], results: &[&str]) -> Signature {
    let result = if let [only] = results { (*only).to_owned() } else { format!("({})", results.join(", ")) };
    Signature::Function(format!("({}) -> {result}", parameters.join(", ")))
}

/// The most bytes of its stack that an instance may use, besides what it keeps in its memory.
const MAX_STACK_LENGTH: usize = 1 << 20;

/// All that a module may import.
pub(crate) const IMPORTS: &[(&str, &str)] = &[
    ("ganger", "log"),
    ("ganger", "progress"),
    ("ganger", "cancelled"),
    ("ganger", "remaining"),
    ("ganger", "about"),
    ("ganger", "fail"),
    ("ganger", "property"),
    ("ganger", "refuse"),
    ("ganger", "item"),
    ("env", "abort"),
];

/// Defines the imports in a linker. The engines call alike what they have alike, so one text serves both: `$view` gives the memory and
/// the [`Host`](crate::host::Host) of a caller, `$error` wraps a fault.
macro_rules! define_imports {
    ($linker:ident, $caller:ident, $view:ident, $error:path) => {{
        use crate::host::{Host, MODULE, Slice};
        $linker.func_wrap(MODULE, "log", |mut caller: $caller<'_, Host>, level: i32, at: i32, length: i32| {
            let (memory, host) = $view(&mut caller)?;
            host.log(memory, level, Slice::new(at, length)).map_err($error)
        })?;
        $linker.func_wrap(
            MODULE,
            "progress",
            |mut caller: $caller<'_, Host>, done: f64, total: f64, note: i32, length: i32| {
                let (memory, host) = $view(&mut caller)?;
                host.progress(memory, done, total, Slice::new(note, length)).map_err($error)
            },
        )?;
        $linker.func_wrap(MODULE, "cancelled", |mut caller: $caller<'_, Host>| caller.data_mut().cancelled())?;
        $linker.func_wrap(MODULE, "remaining", |caller: $caller<'_, Host>| caller.data().remaining())?;
        $linker.func_wrap(MODULE, "about", |mut caller: $caller<'_, Host>, at: i32, length: i32| {
            let (memory, host) = $view(&mut caller)?;
            host.about(memory, Slice::new(at, length)).map_err($error)
        })?;
        define_imports!(of two slices, $linker, $caller, $view, $error, fail);
        define_imports!(of two slices, $linker, $caller, $view, $error, property);
        define_imports!(of two slices, $linker, $caller, $view, $error, refuse);
        $linker.func_wrap(MODULE, "item", |mut caller: $caller<'_, Host>, at: i32, length: i32| {
            let (memory, host) = $view(&mut caller)?;
            host.item(memory, Slice::new(at, length)).map_err($error)
        })?;
        $linker.func_wrap(
            "env",
            "abort",
            |mut caller: $caller<'_, Host>, message: i32, file: i32, line: i32, column: i32| {
                let (memory, _) = $view(&mut caller)?;
                let fault = Host::abort(memory, message.cast_unsigned(), file.cast_unsigned(), line, column);
                Err::<(), _>($error(fault))
            },
        )?;
    }};
    (of two slices, $linker:ident, $caller:ident, $view:ident, $error:path, $name:ident) => {
        $linker.func_wrap(
            MODULE,
            stringify!($name),
            |mut caller: $caller<'_, Host>, one: i32, length: i32, other: i32, other_length: i32| {
                let (memory, host) = $view(&mut caller)?;
                let (one, other) = (Slice::new(one, length), Slice::new(other, other_length));
                host.$name(memory, one, other).map_err($error)
            },
        )?;
    };
}
use define_imports;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ration::{Limits, MAX_CONTRACT_LENGTH, MAX_MODULE_LENGTH, START_TIME};

    const PAGE: &str = include_str!("../ABI.md");

    #[test]
    fn every_import_and_every_limit_is_written_down() {
        for (_, name) in IMPORTS.iter().filter(|(from, _)| *from == crate::host::MODULE) {
            assert!(PAGE.contains(&format!("| `{name}` | `(")), "{name}");
        }
        let mebibytes = |bytes: usize| format!("{} MiB", bytes >> 20);
        for limit in [
            format!("| memory | {} an instance", mebibytes(Limits::default().memory)),
            format!("| start | {} s", START_TIME.as_secs()),
            format!("| stack | {}", mebibytes(MAX_STACK_LENGTH)),
            format!(
                "| module | {} MiB; its contract {}",
                MAX_MODULE_LENGTH >> 20,
                mebibytes(MAX_CONTRACT_LENGTH)
            ),
        ] {
            assert!(PAGE.contains(&limit), "{limit}");
        }
    }
}
