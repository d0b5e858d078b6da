//! ATTACH, HELLO and WELCOME: how a link begins (SPEC chapter 4).

use super::{encoded, read_map};
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{BodyError, Lane, MAX_PAYLOAD_LENGTH, VERSION};

/// The body of an ATTACH frame: the first on each connection to a named endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attach {
    /// The one-time token that lets the worker in.
    pub token: String,
    /// Which lane this connection is; `None` if it said neither "data" nor "control".
    pub lane: Option<Lane>,
    /// The worker's own word that ties its two connections together.
    pub session: String,
}

/// The body of a HELLO frame: who the worker is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The lowest version the worker speaks.
    pub min_version: u16,
    /// The highest version the worker speaks.
    pub max_version: u16,
    /// The name of its SDK.
    pub sdk: String,
    /// The version of its SDK.
    pub sdk_version: String,
    /// Its language.
    pub language: String,
    /// Its process id.
    pub pid: u64,
    /// Whether it can read payloads from shared memory.
    pub shared_memory: bool,
    /// Whether it takes calls that are handed over ahead (R60).
    pub ahead: bool,
}

/// The body of a WELCOME frame: what the host wants of the worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The version both speak from here on.
    pub version: u16,
    /// The pool's name.
    pub pool: String,
    /// The worker's index in the pool.
    pub worker: u32,
    /// How many workers had this index before.
    pub generation: u32,
    /// How many slots it has.
    pub concurrency: u32,
    /// The most bytes of a payload.
    pub max_payload: u64,
    /// How long the host waits after a cancel before it kills.
    pub cancel_grace_ms: u64,
    /// How long the host waits after a stop before it kills.
    pub stop_timeout_ms: u64,
    /// The device it is bound to.
    pub device: Option<String>,
    /// The arenas, if both sides can.
    pub shared_memory: Option<SharedMemory>,
    /// The descriptor from which it claims calls that were handed over ahead, if both sides can (R60).
    pub claims_fd: Option<u32>,
}

/// What a worker must know of the arenas (R42).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedMemory {
    /// The descriptor of the input arena.
    pub input_fd: u32,
    /// The descriptor of the worker's result arena.
    pub result_fd: u32,
    /// Bytes of the input arena.
    pub input_size: u64,
    /// Bytes of the result arena.
    pub result_size: u64,
    /// Payloads from this many bytes on are worth it.
    pub threshold: u64,
}

impl Attach {
    /// The body as it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let lane = match self.lane {
            Some(Lane::Data) => "data",
            Some(Lane::Control) => "control",
            None => "",
        };
        encoded(|writer| {
            writer.map(3);
            for (key, value) in [("token", self.token.as_str()), ("lane", lane), ("session", &self.session)] {
                writer.str(key);
                writer.str(value);
            }
        })
    }

    /// Reads a body.
    ///
    /// # Errors
    /// A malformed body.
    pub fn decode(body: &[u8]) -> Result<Self, BodyError> {
        read_map(body, |attach: &mut Self, reader, key| {
            match key {
                "token" => attach.token = reader.string()?,
                "session" => attach.session = reader.string()?,
                "lane" => {
                    attach.lane = match reader.str()? {
                        "data" => Some(Lane::Data),
                        "control" => Some(Lane::Control),
                        _ => None,
                    }
                }
                _ => reader.skip()?,
            }
            Ok(())
        })
    }
}

impl Hello {
    /// The highest version that both know, if there is one (R12).
    #[must_use]
    pub fn common_version(&self) -> Option<u16> {
        (self.min_version..=self.max_version).contains(&VERSION).then_some(VERSION)
    }

    /// The body as it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let texts = [("sdk", &self.sdk), ("sdk_version", &self.sdk_version), ("language", &self.language)];
        encoded(|writer| {
            writer.map(6 + usize::from(self.shared_memory) + usize::from(self.ahead));
            writer.str("min_version");
            writer.unsigned(self.min_version.into());
            writer.str("max_version");
            writer.unsigned(self.max_version.into());
            for (key, value) in texts {
                writer.str(key);
                writer.str(value);
            }
            writer.str("pid");
            writer.unsigned(self.pid);
            for (key, can) in [("shared_memory", self.shared_memory), ("ahead", self.ahead)] {
                if can {
                    writer.str(key);
                    writer.bool(true);
                }
            }
        })
    }

    /// Reads a body.
    ///
    /// # Errors
    /// A malformed body.
    pub fn decode(body: &[u8]) -> Result<Self, BodyError> {
        read_map(body, |hello: &mut Self, reader, key| {
            match key {
                "min_version" => hello.min_version = reader.unsigned("min_version")?,
                "max_version" => hello.max_version = reader.unsigned("max_version")?,
                "sdk" => hello.sdk = reader.string()?,
                "sdk_version" => hello.sdk_version = reader.string()?,
                "language" => hello.language = reader.string()?,
                "pid" => hello.pid = reader.unsigned("pid")?,
                "shared_memory" => hello.shared_memory = reader.bool()?,
                "ahead" => hello.ahead = reader.bool()?,
                _ => reader.skip()?,
            }
            Ok(())
        })
    }
}

impl Default for Welcome {
    fn default() -> Self {
        Self {
            version: 0,
            pool: String::new(),
            worker: 0,
            generation: 0,
            concurrency: 1,
            max_payload: MAX_PAYLOAD_LENGTH,
            cancel_grace_ms: 2_000,
            stop_timeout_ms: 5_000,
            device: None,
            shared_memory: None,
            claims_fd: None,
        }
    }
}

impl Welcome {
    /// The body as it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let numbers = [
            ("version", self.version.into()),
            ("worker", self.worker.into()),
            ("generation", self.generation.into()),
            ("concurrency", self.concurrency.into()),
            ("max_payload", self.max_payload),
            ("cancel_grace_ms", self.cancel_grace_ms),
            ("stop_timeout_ms", self.stop_timeout_ms),
        ];
        encoded(|writer| {
            let options = [self.shared_memory.is_some(), self.claims_fd.is_some()];
            writer.map(numbers.len() + 2 + options.into_iter().filter(|has| *has).count());
            for (key, value) in numbers {
                writer.str(key);
                writer.unsigned(value);
            }
            writer.str("pool");
            writer.str(&self.pool);
            writer.str("device");
            writer.nullable(self.device.as_deref(), Writer::str);
            if let Some(arenas) = &self.shared_memory {
                writer.str("shared_memory");
                arenas.write(writer);
            }
            if let Some(claims) = self.claims_fd {
                writer.str("claims_fd");
                writer.unsigned(claims.into());
            }
        })
    }

    /// Reads a body.
    ///
    /// # Errors
    /// A malformed body.
    pub fn decode(body: &[u8]) -> Result<Self, BodyError> {
        read_map(body, |welcome: &mut Self, reader, key| {
            match key {
                "version" => welcome.version = reader.unsigned("version")?,
                "pool" => welcome.pool = reader.string()?,
                "worker" => welcome.worker = reader.unsigned("worker")?,
                "generation" => welcome.generation = reader.unsigned("generation")?,
                "concurrency" => welcome.concurrency = reader.unsigned("concurrency")?,
                "max_payload" => welcome.max_payload = reader.unsigned("max_payload")?,
                "cancel_grace_ms" => welcome.cancel_grace_ms = reader.unsigned("cancel_grace_ms")?,
                "stop_timeout_ms" => welcome.stop_timeout_ms = reader.unsigned("stop_timeout_ms")?,
                "device" => welcome.device = reader.nullable(|reader| reader.string())?,
                "shared_memory" => welcome.shared_memory = reader.nullable(SharedMemory::read)?,
                "claims_fd" => {
                    welcome.claims_fd = reader.nullable(|reader| reader.unsigned("claims_fd"))?;
                }
                _ => reader.skip()?,
            }
            Ok(())
        })
    }
}

impl SharedMemory {
    fn write(&self, writer: &mut Writer<'_>) {
        let numbers = [
            ("input_fd", self.input_fd.into()),
            ("result_fd", self.result_fd.into()),
            ("input_size", self.input_size),
            ("result_size", self.result_size),
            ("threshold", self.threshold),
        ];
        writer.map(numbers.len());
        for (key, value) in numbers {
            writer.str(key);
            writer.unsigned(value);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BodyError> {
        let mut arenas = Self::default();
        reader.map(|reader, key| {
            match key {
                "input_fd" => arenas.input_fd = reader.unsigned("input_fd")?,
                "result_fd" => arenas.result_fd = reader.unsigned("result_fd")?,
                "input_size" => arenas.input_size = reader.unsigned("input_size")?,
                "result_size" => arenas.result_size = reader.unsigned("result_size")?,
                "threshold" => arenas.threshold = reader.unsigned("threshold")?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(arenas)
    }
}
