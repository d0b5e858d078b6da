//! Shared memory: inputs that are found there, results that are left there, and references that lead nowhere.

use ganger_protocol::message::code;
use ganger_protocol::{Arena, Encoding, Flags, Frame, Kind, Lane, Reference, Value};

use super::payloads::decoded;
use super::start::close_on_exec;
use super::{Need, Trial, trial};
use crate::check::arenas::SIZE;
use crate::check::bench::{Bench, Setup, hear_ready};
use crate::check::breach::{Breach, Kept, ensure};
use crate::check::describe::describe;
use crate::check::link::Link;

const MEMORY: Need = Need::SharedMemory;

pub(super) const TRIALS: &[Trial] = &[
    trial(&[42], &[MEMORY, Need::Linux], hides_its_arenas),
    trial(&[43, 46], &[MEMORY, Need::Linux, Need::Function("check_echo")], finds_inputs_in_memory),
    trial(&[43, 45, 46], &[MEMORY, Need::Linux, Need::Function("check_bytes")], leaves_lent_blocks_alone),
    trial(&[43], &[MEMORY, Need::Linux], refuses_references_to_nowhere),
    trial(&[47], &[Need::Python, Need::Function("check_echo")], reads_pickles_with_buffers),
];

fn setup() -> Setup {
    Setup { shared_memory: true, ..Setup::default() }
}

fn hides_its_arenas(bench: &Bench) -> Kept {
    let (mut link, hello) = bench.greeted(&setup())?;
    hear_ready(&mut link)?;
    for number in [5, 6] {
        close_on_exec(42, hello.pid, number)?;
    }
    link.finish()
}

fn finds_inputs_in_memory(bench: &Bench) -> Kept {
    let mut link = bench.ready(&setup())?;
    let text = Value::String("shared ".repeat(30_000));
    for (turn, value) in [(0, &text), (1, &Value::from("short")), (2, &text)] {
        let reference = put(&link, turn * 262_144, &value.encode())?;
        let seq = shared_call(&mut link, bench, reference.to_bytes(), Flags::SHARED);
        let came = link.result(43, seq)?;
        ensure(decoded(&came).as_ref() == Some(value), 43, "the value in shared memory", || describe(&came))?;
        link.release()?;
    }
    // A reader takes either way at any time.
    let seq = link.call(&bench.function("check_echo"), &text);
    let came = link.result(46, seq)?;
    ensure(decoded(&came) == Some(text), 46, "the value that went through the lane", || describe(&came))?;
    link.finish()
}

/// Two results do not fit: the second goes through the lane, or else lies over the first.
fn leaves_lent_blocks_alone(bench: &Bench) -> Kept {
    let mut link = bench.ready(&setup())?;
    let bytes = i64::try_from(SIZE * 2 / 3).expect("it is small");
    for turn in 0..6 {
        let seq = link.call(&bench.function("check_bytes"), &bytes.into());
        let came = link.result(46, seq)?;
        let whole = matches!(decoded(&came), Some(Value::Bytes(got)) if got.len() as i64 == bytes);
        ensure(whole, 46, &format!("{bytes} bytes, through memory or the lane"), || describe(&came))?;
        if turn % 3 == 2 && link.ledger.arenas.as_ref().is_some_and(|arenas| arenas.has_lent()) {
            link.release()?;
        }
    }
    link.finish()
}

fn refuses_references_to_nowhere(bench: &Bench) -> Kept {
    let beyond = Reference { arena: Arena::Input, offset: SIZE - 8, length: 16 }.to_bytes();
    let mut elsewhere = beyond;
    elsewhere[..8].copy_from_slice(&7_u64.to_le_bytes());
    let wraps = Reference { arena: Arena::Input, offset: u64::MAX - 4, length: 16 }.to_bytes();
    let within = Reference { arena: Arena::Input, offset: 0, length: 1 }.to_bytes();
    let wrong = [
        (beyond, Flags::SHARED, "a reference beyond the arena"),
        (wraps, Flags::SHARED, "a reference whose end wraps around"),
        (elsewhere, Flags::SHARED, "a reference to an arena that does not exist"),
        (within, Flags::SHARED.with(Flags::MORE), "SHARED together with MORE"),
    ];
    for (reference, flags, what) in wrong {
        let mut link = bench.ready(&setup())?;
        shared_call(&mut link, bench, reference, flags);
        link.refuses(43, what)?;
    }
    Ok(())
}

fn reads_pickles_with_buffers(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let buffer = b"a buffer beside its pickle";
    // PROTO 5, NEXT_BUFFER, STOP.
    let pickle = [0x80, 5, 0x97, b'.'];
    let mut payload = Vec::new();
    payload.extend_from_slice(&[0_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat());
    for number in [40, pickle.len() as u64, 64, buffer.len() as u64] {
        payload.extend_from_slice(&number.to_le_bytes());
    }
    payload.extend_from_slice(&pickle);
    payload.resize(64, 0);
    payload.extend_from_slice(buffer);
    let seq = pickled(&mut link, bench, payload.clone());
    let came = link.result(47, seq)?;
    let holds = came.payload.windows(buffer.len()).any(|window| window == buffer);
    ensure(holds, 47, "the buffer that lay beside the pickle", || describe(&came))?;
    // One buffer too few, and an extent beyond the end.
    payload[4] = 0;
    let seq = pickled(&mut link, bench, payload.clone());
    link.error(47, seq, code::INVALID_INPUT)?;
    payload[4] = 1;
    payload[32] = 0xff;
    let seq = pickled(&mut link, bench, payload);
    link.error(47, seq, code::INVALID_INPUT)?;
    link.finish()
}

fn pickled(link: &mut Link, bench: &Bench, payload: Vec<u8>) -> u64 {
    let call = link.call_frame(&bench.function("check_echo"), &Value::Nil);
    let call = call.with_payload(Encoding::Pickle5, payload);
    link.send(Lane::Data, &call);
    call.seq
}

fn put(link: &Link, offset: u64, bytes: &[u8]) -> Kept<Reference> {
    let arenas = link.ledger.arenas.as_ref().expect("the trial has agreed on memory");
    arenas.put(offset, bytes).map_err(|error| Breach::new(43, "memory", error.to_string()))
}

fn shared_call(link: &mut Link, bench: &Bench, reference: [u8; 24], flags: Flags) -> u64 {
    let call = link.call_frame(&bench.function("check_echo"), &Value::Nil);
    let payload = reference.to_vec().into();
    let call = Frame { flags: call.flags.with(flags), payload, ..call };
    debug_assert_eq!(call.kind, Kind::Call);
    link.send(Lane::Data, &call);
    call.seq
}
