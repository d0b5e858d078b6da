//! Payloads in pieces: read in any order, dropped when cancelled, refused when they do not add up.

use ganger_protocol::message::{Call, code};
use ganger_protocol::{Bytes, Encoding, Flags, Frame, Kind, Lane, Value, split_into_chunks};

use super::frames::NOBODY;
use super::{Need, Trial, trial};
use crate::check::bench::{Bench, Setup};
use crate::check::breach::{Kept, ensure};
use crate::check::describe::describe;
use crate::check::link::Link;

pub(super) const TRIALS: &[Trial] = &[
    trial(&[7, 9, 10], &[], reads_interleaved_pieces),
    trial(&[9], &[Need::Function("check_echo")], puts_pieces_together),
    trial(&[10, 26], &[Need::Function("check_echo")], drops_what_was_cancelled),
    trial(&[9], &[], refuses_pieces_beyond_the_total),
    trial(&[9], &[], refuses_pieces_short_of_the_total),
    trial(&[9], &[], refuses_a_first_piece_without_the_total),
    trial(&[10], &[], refuses_a_piece_of_nothing),
    trial(&[10], &[], refuses_a_second_payload_of_a_seq),
];

fn reads_interleaved_pieces(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::roomy())?;
    let text = Value::String("x".repeat(100));
    let calls = [link.call_frame(NOBODY, &text), link.call_frame(NOBODY, &text)];
    let pieces = calls.clone().map(|call| split_into_chunks(call, 40).collect::<Vec<_>>());
    for turn in 0..pieces[0].len() {
        for call in &pieces {
            link.send(Lane::Data, &call[turn]);
        }
        if turn == 0 {
            link.ping(10)?;
        }
    }
    for call in calls {
        link.error(9, call.seq, code::NO_SUCH_FUNCTION)?;
    }
    link.finish()
}

fn puts_pieces_together(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let text = Value::String("0123456789".repeat(30_000));
    let call = link.call_frame(&bench.function("check_echo"), &text);
    let seq = call.seq;
    for piece in split_into_chunks(call, 65_536) {
        link.send(Lane::Data, &piece);
    }
    let result = link.result(9, seq)?;
    let same = Value::decode(&result.payload).is_ok_and(|value| value == text);
    ensure(same, 9, "the 300 000 bytes that were sent in pieces", || describe(&result))?;
    link.finish()
}

fn drops_what_was_cancelled(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let call = link.call_frame(&bench.function("check_echo"), &Value::String("x".repeat(100)));
    let (seq, pieces) = (call.seq, split_into_chunks(call, 40).collect::<Vec<_>>());
    link.send(Lane::Data, &pieces[0]);
    link.cancel(seq);
    link.error(26, seq, code::CANCELLED)?;
    // One was on its way.
    link.send(Lane::Data, &pieces[1]);
    link.ping(10)?;
    link.finish()
}

fn refuses_pieces_beyond_the_total(bench: &Bench) -> Kept {
    let mut link = begun(bench, 10)?;
    link.send(Lane::Data, &piece(1, b"0123456789ABCDEF", Flags::NONE));
    link.refuses(9, "pieces of more bytes than announced")
}

fn refuses_pieces_short_of_the_total(bench: &Bench) -> Kept {
    let mut link = begun(bench, 10)?;
    link.send(Lane::Data, &piece(1, b"0", Flags::NONE));
    link.refuses(9, "pieces of fewer bytes than announced")
}

fn refuses_a_first_piece_without_the_total(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let call = Frame::new(Kind::Call, 1).with_body(Call::new(NOBODY).encode());
    let mut call = call.with_payload(Encoding::MessagePack, Bytes::from_static(b"abc"));
    call.flags = call.flags.with(Flags::MORE);
    link.send(Lane::Data, &call);
    link.refuses(9, "a first piece of less than 8 bytes")
}

fn refuses_a_piece_of_nothing(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    link.send(Lane::Data, &piece(9, b"0", Flags::NONE));
    link.refuses(10, "CHUNK of a seq that never began")
}

fn refuses_a_second_payload_of_a_seq(bench: &Bench) -> Kept {
    let mut link = begun(bench, 10)?;
    let input = Frame { flags: Flags::MORE, ..Frame::new(Kind::Input, 1) };
    link.send(Lane::Data, &Frame { payload: announced(10), ..input });
    link.refuses(10, "a second payload in pieces of a seq that has one under way")
}

/// A call whose payload has so many bytes, of which one has come.
fn begun(bench: &Bench, total: u64) -> Kept<Link> {
    let mut link = bench.ready(&Setup::default())?;
    let call = Frame::new(Kind::Call, 1).with_body(Call::new(NOBODY).encode());
    let flags = call.flags.with(Flags::MORE);
    link.send(Lane::Data, &Frame { flags, payload: announced(total), ..call });
    Ok(link)
}

fn announced(total: u64) -> Bytes {
    [&total.to_le_bytes()[..], b"x"].concat().into()
}

fn piece(seq: u64, payload: &'static [u8], flags: Flags) -> Frame {
    Frame { flags, payload: Bytes::from_static(payload), ..Frame::new(Kind::Chunk, seq) }
}
