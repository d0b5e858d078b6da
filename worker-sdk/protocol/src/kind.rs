//! What a frame is for, and on which lane it may travel in which direction.

/// What a frame is for (SPEC chapter 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Run a function.
    Call = 1,
    /// One item of a call's input stream.
    Input = 2,
    /// The input stream of a call has ended.
    InputEnd = 3,
    /// Prove that calls can run.
    Ping = 4,
    /// End when the running calls have ended.
    Stop = 5,
    /// More of a payload that began in another frame.
    Chunk = 6,
    /// A block of shared memory is given back.
    Release = 7,
    /// The worker's functions; calls may come.
    Ready = 16,
    /// A call ended well.
    Result = 17,
    /// A call, or the start, ended with an error.
    Error = 18,
    /// One item of a call's output stream.
    Item = 19,
    /// How far a call is.
    Progress = 20,
    /// A log record.
    Log = 21,
    /// The answer to a ping.
    Pong = 22,
    /// The first frame on a connection to a named endpoint.
    Attach = 32,
    /// Who the worker is.
    Hello = 33,
    /// What the host wants of the worker.
    Welcome = 34,
    /// Ask a call to stop.
    Cancel = 35,
    /// The reader of a stream has room for more.
    Credit = 36,
}

/// One of the two byte streams between host and worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Calls, their payloads and their outcomes.
    Data,
    /// Handshake, cancels and credit: never behind a payload.
    Control,
}

/// Which way a frame travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From host to worker.
    ToWorker,
    /// From worker to host.
    ToHost,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 19] = [
        Self::Call,
        Self::Input,
        Self::InputEnd,
        Self::Ping,
        Self::Stop,
        Self::Chunk,
        Self::Release,
        Self::Ready,
        Self::Result,
        Self::Error,
        Self::Item,
        Self::Progress,
        Self::Log,
        Self::Pong,
        Self::Attach,
        Self::Hello,
        Self::Welcome,
        Self::Cancel,
        Self::Credit,
    ];

    /// The kind with this number, if this version knows one.
    #[must_use]
    pub const fn from_u8(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Call,
            2 => Self::Input,
            3 => Self::InputEnd,
            4 => Self::Ping,
            5 => Self::Stop,
            6 => Self::Chunk,
            7 => Self::Release,
            16 => Self::Ready,
            17 => Self::Result,
            18 => Self::Error,
            19 => Self::Item,
            20 => Self::Progress,
            21 => Self::Log,
            22 => Self::Pong,
            32 => Self::Attach,
            33 => Self::Hello,
            34 => Self::Welcome,
            35 => Self::Cancel,
            36 => Self::Credit,
            _ => return None,
        })
    }

    /// The name SPEC gives it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "CALL",
            Self::Input => "INPUT",
            Self::InputEnd => "INPUT_END",
            Self::Ping => "PING",
            Self::Stop => "STOP",
            Self::Chunk => "CHUNK",
            Self::Release => "RELEASE",
            Self::Ready => "READY",
            Self::Result => "RESULT",
            Self::Error => "ERROR",
            Self::Item => "ITEM",
            Self::Progress => "PROGRESS",
            Self::Log => "LOG",
            Self::Pong => "PONG",
            Self::Attach => "ATTACH",
            Self::Hello => "HELLO",
            Self::Welcome => "WELCOME",
            Self::Cancel => "CANCEL",
            Self::Credit => "CREDIT",
        }
    }

    /// The lane it belongs on. ATTACH, the first frame of both connections to an endpoint, counts as control.
    #[must_use]
    pub const fn lane(self) -> Lane {
        match self {
            Self::Attach | Self::Hello | Self::Welcome | Self::Cancel | Self::Credit => Lane::Control,
            Self::Call
            | Self::Input
            | Self::InputEnd
            | Self::Ping
            | Self::Stop
            | Self::Chunk
            | Self::Release
            | Self::Ready
            | Self::Result
            | Self::Error
            | Self::Item
            | Self::Progress
            | Self::Log
            | Self::Pong => Lane::Data,
        }
    }

    /// Whether a frame of this kind may travel this way on this lane once the link is up (R3). ATTACH never
    /// may: it comes before.
    #[must_use]
    pub const fn may_travel(self, lane: Lane, direction: Direction) -> bool {
        match (lane, direction) {
            (Lane::Data, Direction::ToWorker) => matches!(
                self,
                Self::Call
                    | Self::Input
                    | Self::InputEnd
                    | Self::Ping
                    | Self::Stop
                    | Self::Chunk
                    | Self::Release
            ),
            (Lane::Data, Direction::ToHost) => matches!(
                self,
                Self::Ready
                    | Self::Result
                    | Self::Error
                    | Self::Item
                    | Self::Progress
                    | Self::Log
                    | Self::Pong
                    | Self::Chunk
                    | Self::Release
            ),
            (Lane::Control, Direction::ToWorker) => {
                matches!(self, Self::Welcome | Self::Cancel | Self::Credit)
            }
            (Lane::Control, Direction::ToHost) => matches!(self, Self::Hello | Self::Credit),
        }
    }

    /// Whether it is sent with [`Flags::CRITICAL`](crate::Flags::CRITICAL).
    #[must_use]
    pub const fn is_critical(self) -> bool {
        matches!(self, Self::Call | Self::Stop | Self::Welcome)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}
