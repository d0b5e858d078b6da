//! What an instance may ask of this program: to log, to tell how far it is, whether to stop, to fail, to send an item. It can reach
//! nothing else: no files, no network, no clock, no randomness, no other instance.

use std::time::{Duration, Instant};

use ganger_protocol::Value;
use ganger_protocol::message::{ErrorReport, code};
use ganger_worker::{Context, Level};

use crate::failure::{Fault, Stopped};
use crate::ration::{Ration, START_TIME};
use crate::values::{Codec, invalid_input};

/// The module that imports come from.
pub(crate) const MODULE: &str = "ganger";

/// The most bytes of a text that is taken from a module.
const MAX_TEXT_LENGTH: usize = 64 * 1024;

/// What lies behind an instance: for whom it runs, what it said, and what it may use.
pub(crate) struct Host {
    scope: Scope,
    /// The error that the module wants its call to end with.
    failure: Option<Box<ErrorReport>>,
    pub(crate) ration: Ration,
}

/// For whom an instance runs.
enum Scope {
    /// For nobody, while it is loaded.
    Start {
        until: Instant,
        said: Vec<(Level, String)>,
    },
    Call(CallScope),
    /// It does not run.
    Idle,
}

struct CallScope {
    context: Context,
    codec: Codec,
    /// How long it may go on once it is asked to stop.
    courtesy: Duration,
    asked_at: Option<Instant>,
    /// It was told to stop.
    told: bool,
}

impl Host {
    pub(crate) const fn new(ration: Ration) -> Self {
        Self { scope: Scope::Idle, failure: None, ration }
    }

    /// The instance is loaded, for no call.
    pub(crate) fn start(&mut self) {
        self.scope = Scope::Start { until: Instant::now() + START_TIME, said: Vec::new() };
    }

    /// The instance runs for a call from now on. A module that looks whether to stop has some time to do it.
    pub(crate) fn enter(&mut self, context: &Context, codec: Codec, looks: bool) {
        let grace = context.place().cancel_grace;
        let courtesy = if looks { (grace / 4).min(MAX_COURTESY) } else { Duration::ZERO };
        let context = context.clone();
        self.failure = None;
        self.scope = Scope::Call(CallScope { context, codec, courtesy, asked_at: None, told: false });
    }

    /// The instance rests. Gives the error that the module wanted.
    pub(crate) fn leave(&mut self) -> Option<Box<ErrorReport>> {
        let was = std::mem::replace(&mut self.scope, Scope::Idle);
        let failure = self.failure.take()?;
        let told = matches!(was, Scope::Call(CallScope { told: true, .. }));
        let cancelled = || Box::new(ErrorReport::new(code::CANCELLED, "Cancelled", "the call was cancelled"));
        Some(if told { cancelled() } else { failure })
    }

    /// What was logged while there was no call.
    pub(crate) fn said(&mut self) -> Vec<(Level, String)> {
        match &mut self.scope {
            Scope::Start { said, .. } => std::mem::take(said),
            Scope::Call(_) | Scope::Idle => Vec::new(),
        }
    }

    /// Asked again and again while the instance runs: whether it may go on.
    pub(crate) fn go_on(&mut self) -> Result<(), Stopped> {
        match &mut self.scope {
            Scope::Start { until, .. } if Instant::now() > *until => Err(Stopped::Start),
            Scope::Call(call) if call.context.is_cancelled() => {
                let asked_at = *call.asked_at.get_or_insert_with(Instant::now);
                if asked_at.elapsed() >= call.courtesy { Err(Stopped::Cancelled) } else { Ok(()) }
            }
            Scope::Start { .. } | Scope::Call(_) | Scope::Idle => Ok(()),
        }
    }
}

/// The most time that a module has to stop by itself.
const MAX_COURTESY: Duration = Duration::from_millis(500);

/// The imports. Pointers are as bad as the module likes: all are checked.
impl Host {
    pub(crate) fn log(&mut self, memory: &[u8], level: i32, message: Slice) -> Result<(), Fault> {
        let message = text("ganger.log", memory, message)?;
        let level = match level {
            i32::MIN..=0 => Level::Debug,
            1 => Level::Info,
            2 => Level::Warning,
            3 => Level::Error,
            4.. => Level::Critical,
        };
        match &mut self.scope {
            Scope::Call(call) => call.context.log().write(level, &message, None),
            Scope::Start { said, .. } if said.len() < 100 => said.push((level, message)),
            Scope::Start { .. } | Scope::Idle => {}
        }
        Ok(())
    }

    /// A total that is not a number is none.
    pub(crate) fn progress(
        &mut self,
        memory: &[u8],
        done: f64,
        total: f64,
        note: Slice,
    ) -> Result<(), Fault> {
        let note = text("ganger.progress", memory, note)?;
        if let Scope::Call(call) = &self.scope {
            let note = Some(note.as_str()).filter(|note| !note.is_empty());
            call.context.progress(done, Some(total).filter(|total| !total.is_nan()), note);
        }
        Ok(())
    }

    /// 1: the call was asked to stop.
    pub(crate) fn cancelled(&mut self) -> i32 {
        let Scope::Call(call) = &mut self.scope else { return 0 };
        call.told |= call.context.is_cancelled();
        i32::from(call.told)
    }

    /// Milliseconds that are left of the call, or -1 if it has no limit.
    pub(crate) fn remaining(&self) -> i64 {
        let Scope::Call(call) = &self.scope else { return -1 };
        call.context.remaining().map_or(-1, |left| i64::try_from(left.as_millis()).unwrap_or(i64::MAX))
    }

    /// Writes what is known of the call, if there is room. Gives how long it is.
    pub(crate) fn about(&self, memory: &mut [u8], room: Slice) -> Result<i32, Fault> {
        let Scope::Call(call) = &self.scope else { return Ok(0) };
        let about = call.codec.write(&about(&call.context));
        slice("ganger.about", memory, room)?;
        if about.len() <= room.length as usize {
            memory[room.pointer as usize..][..about.len()].copy_from_slice(&about);
        }
        Ok(i32::try_from(about.len()).unwrap_or(i32::MAX))
    }

    /// The call shall end with an error, once the module returns.
    pub(crate) fn fail(&mut self, memory: &[u8], name: Slice, message: Slice) -> Result<(), Fault> {
        let name = text("ganger.fail", memory, name)?;
        let name = if name.is_empty() { "Error".to_owned() } else { name };
        let message = text("ganger.fail", memory, message)?;
        self.failure = Some(Box::new(ErrorReport::new(code::CALL_FAILED, name, message)));
        Ok(())
    }

    /// A property of the error: a value in the encoding of the function, or bytes.
    pub(crate) fn property(&mut self, memory: &[u8], name: Slice, value: Slice) -> Result<(), Fault> {
        let Some(failure) = &mut self.failure else {
            return Err(Fault("ganger.property comes after ganger.fail".to_owned()));
        };
        let name = text("ganger.property", memory, name)?;
        let bytes = slice("ganger.property", memory, value)?;
        let codec = if let Scope::Call(call) = &self.scope { call.codec } else { Codec::MessagePack };
        let value = match codec.output(bytes.to_vec()) {
            Ok(encoded) if codec == Codec::Bytes => Value::Bytes(encoded.payload.to_vec()),
            Ok(encoded) => Value::decode(&encoded.payload).unwrap_or_default(),
            Err(_) => {
                failure.dropped.get_or_insert_default().push(name);
                return Ok(());
            }
        };
        if let Value::Map(properties) = failure.properties.get_or_insert(Value::Map(Vec::new())) {
            properties.push((name, value));
        }
        Ok(())
    }

    /// The input does not fit.
    pub(crate) fn refuse(&mut self, memory: &[u8], path: Slice, message: Slice) -> Result<(), Fault> {
        let path = text("ganger.refuse", memory, path)?;
        let path = if path.is_empty() { "$".to_owned() } else { path };
        self.failure = Some(invalid_input(&path, &text("ganger.refuse", memory, message)?));
        Ok(())
    }

    /// An item of a stream. Waits until the caller has room for it. 1: the module shall return.
    pub(crate) fn item(&mut self, memory: &[u8], item: Slice) -> Result<i32, Fault> {
        let Scope::Call(call) = &mut self.scope else {
            return Err(Fault("ganger.item belongs into a call".to_owned()));
        };
        let item = slice("ganger.item", memory, item)?;
        let sent = call.codec.output(item.to_vec()).and_then(|item| call.context.send(&item));
        match sent {
            Ok(()) => Ok(0),
            Err(report) => {
                call.told |= report.code == code::CANCELLED;
                self.failure = Some(report);
                Ok(1)
            }
        }
    }

    /// What AssemblyScript calls when something is wrong: texts in UTF-16 behind their length in bytes.
    pub(crate) fn abort(memory: &[u8], message: u32, file: u32, line: i32, column: i32) -> Fault {
        let message = utf16(memory, message).unwrap_or_else(|| "aborted".to_owned());
        let file = utf16(memory, file).unwrap_or_else(|| "an unknown file".to_owned());
        Fault(format!("{message} at {file}:{line}:{column}"))
    }
}

/// A pointer and a length, as a module gives them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    pub(crate) pointer: u32,
    pub(crate) length: u32,
}

impl Slice {
    pub(crate) const fn new(pointer: i32, length: i32) -> Self {
        Self { pointer: pointer.cast_unsigned(), length: length.cast_unsigned() }
    }

    /// Both in one number, the pointer above.
    pub(crate) const fn unpacked(both: i64) -> Self {
        let both = both.cast_unsigned();
        Self { pointer: (both >> 32) as u32, length: both as u32 }
    }
}

/// The bytes that a module points to.
pub(crate) fn slice<'a>(what: &str, memory: &'a [u8], slice: Slice) -> Result<&'a [u8], Fault> {
    let Slice { pointer, length } = slice;
    let begin = pointer as usize;
    let bytes = begin.checked_add(length as usize).and_then(|end| memory.get(begin..end));
    // Nothing is nothing wherever it lies.
    let bytes = bytes.or((length == 0).then_some(&[]));
    bytes.ok_or_else(|| {
        let size = memory.len();
        Fault(format!(
            "{what}: {length} bytes at {pointer} are not within the {size} bytes of the module's memory"
        ))
    })
}

fn about(context: &Context) -> Value {
    let remaining = context.remaining().map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
    let trace = context.trace().iter().map(|(name, value)| (name.clone(), value.as_str().into()));
    let about = [
        ("function", context.function().into()),
        ("attempt", u64::from(context.attempt()).into()),
        ("remaining_ms", remaining.map_or(Value::Nil, Value::from)),
        ("trace", Value::Map(trace.collect())),
    ];
    Value::Map(about.map(|(name, value)| (name.to_owned(), value)).to_vec())
}

/// The text that a module points to, cut where it is too long. What is no UTF-8 is replaced.
fn text(what: &str, memory: &[u8], place: Slice) -> Result<String, Fault> {
    let bytes = slice(what, memory, place)?;
    Ok(String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_TEXT_LENGTH)]).into_owned())
}

fn utf16(memory: &[u8], pointer: u32) -> Option<String> {
    let header = Slice { pointer: pointer.checked_sub(4)?, length: 4 };
    let length = slice("", memory, header).ok()?.try_into().ok().map(u32::from_le_bytes)?;
    let length = length.min(MAX_TEXT_LENGTH as u32);
    let bytes = slice("", memory, Slice { pointer, length }).ok()?;
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    Some(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pointer_reaches_beyond_the_memory() {
        let memory = [7; 16];
        assert_eq!(slice("x", &memory, Slice::new(4, 12)).unwrap(), [7; 12]);
        assert_eq!(slice("x", &memory, Slice::new(-1, 0)).unwrap(), [0; 0]);
        for (pointer, length) in [(0, 17), (16, 1), (5, 12), (-1, 1), (-1, -1), (1, -1), (i32::MIN, i32::MIN)]
        {
            let fault = slice("ganger.log", &memory, Slice::new(pointer, length)).unwrap_err();
            assert!(fault.to_string().starts_with("ganger.log"), "{fault}");
        }
        let slice = Slice::unpacked(-1);
        assert_eq!((slice.pointer, slice.length), (u32::MAX, u32::MAX));
    }

    #[test]
    fn an_abort_of_assemblyscript_is_read() {
        let text: Vec<u8> = "no".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let memory = [&4_u32.to_le_bytes()[..], &text].concat();
        assert_eq!(Host::abort(&memory, 4, 0, 1, 2).to_string(), "no at an unknown file:1:2");
        assert_eq!(Host::abort(&memory, u32::MAX, 3, 1, 2).to_string(), "aborted at an unknown file:1:2");
    }
}
