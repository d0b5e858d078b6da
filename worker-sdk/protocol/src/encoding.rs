//! The flags of a frame, and with them how its payload is encoded.

/// How a payload is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// One MessagePack value; what every language reads.
    #[default]
    MessagePack,
    /// A byte string as it is.
    Raw,
    /// Pickle protocol 5, between Python and Python only.
    Pickle5,
}

/// The flags byte of a header. Bits that this version does not know are kept and ignored (R4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No flag: a MessagePack payload, whole.
    pub const NONE: Self = Self(0);
    /// Who does not know the kind must not skip the frame.
    pub const CRITICAL: Self = Self(0x01);
    /// The payload goes on in CHUNK frames.
    pub const MORE: Self = Self(0x02);
    /// The payload is a reference to shared memory.
    pub const SHARED: Self = Self(0x04);
    /// The worker still looks at the call's shared input (R44).
    pub const HELD: Self = Self(0x08);
    /// The sender's value was a view of somebody's memory; a hint.
    pub const VIEW: Self = Self(0x40);
    /// The call may come while another runs, and waits until the worker claims it (R62).
    pub const AHEAD: Self = Self(0x80);

    const ENCODING_MASK: u8 = 0x30;

    /// Whether all bits of `flag` are set.
    #[must_use]
    pub const fn contains(self, flag: Self) -> bool {
        self.0 & flag.0 == flag.0
    }

    /// These flags and `flag`.
    #[must_use]
    pub const fn with(self, flag: Self) -> Self {
        Self(self.0 | flag.0)
    }

    /// These flags without `flag`.
    #[must_use]
    pub const fn without(self, flag: Self) -> Self {
        Self(self.0 & !flag.0)
    }

    /// How the payload is encoded; `None` for an encoding that this version does not know (R23).
    #[must_use]
    pub const fn encoding(self) -> Option<Encoding> {
        match self.0 & Self::ENCODING_MASK {
            0x00 => Some(Encoding::MessagePack),
            0x10 => Some(Encoding::Raw),
            0x20 => Some(Encoding::Pickle5),
            _ => None,
        }
    }

    /// These flags with another encoding.
    #[must_use]
    pub const fn with_encoding(self, encoding: Encoding) -> Self {
        let bits = match encoding {
            Encoding::MessagePack => 0x00,
            Encoding::Raw => 0x10,
            Encoding::Pickle5 => 0x20,
        };
        Self(self.0 & !Self::ENCODING_MASK | bits)
    }
}
