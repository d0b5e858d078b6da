//! Where in shared memory a payload lies (R43).

/// The payload of a frame with [`Flags::SHARED`](crate::Flags::SHARED).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// In which arena.
    pub arena: Arena,
    /// Where in it.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
}

/// One of the two arenas that a worker knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arena {
    /// The pool's, which the host writes.
    Input,
    /// The worker's own.
    Result,
}

impl Reference {
    /// How long it is as a payload.
    pub const LENGTH: usize = 24;

    /// As it travels.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::LENGTH] {
        let arena: u64 = match self.arena {
            Arena::Input => 0,
            Arena::Result => 1,
        };
        let mut bytes = [0; Self::LENGTH];
        for (place, number) in bytes.chunks_exact_mut(8).zip([arena, self.offset, self.length]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Reads a payload; `None` if it is no reference.
    #[must_use]
    pub fn read(payload: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LENGTH] = payload.try_into().ok()?;
        let (numbers, _) = bytes.as_chunks::<8>();
        let [arena, offset, length] = [0, 1, 2].map(|at| u64::from_le_bytes(numbers[at]));
        let arena = match arena {
            0 => Arena::Input,
            1 => Arena::Result,
            _ => return None,
        };
        Some(Self { arena, offset, length })
    }
}
