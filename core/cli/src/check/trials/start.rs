//! How a worker comes up: the handshake, whichever way it may go.

use ganger_protocol::message::ErrorReport;
use ganger_protocol::{Frame, Kind, Lane, VERSION, Value};

use super::{Need, Trial, trial};
use crate::check::bench::{Bench, Setup, hear_hello, hear_ready};
use crate::check::breach::{Breach, Kept, ensure};
use crate::check::describe::describe;
use crate::check::link::Link;

pub(super) const TRIALS: &[Trial] = &[
    trial(&[2, 3, 4, 5, 11, 13, 34, 35], &[], comes_up_and_stops),
    trial(&[11], &[], attaches),
    trial(&[56], &[Need::Linux], hides_its_lanes),
    trial(&[5], &[], reads_a_short_and_a_rich_welcome),
    trial(&[12], &[], refuses_a_version_that_it_did_not_offer),
    trial(&[1, 12], &[], ends_when_nobody_welcomes_it),
    trial(&[1], &[], ends_when_the_host_goes_while_it_starts),
    trial(&[40], &[], refuses_a_second_welcome),
    trial(&[13, 35], &[], stops_although_it_is_not_ready),
    trial(&[14], &[Need::Function("check_hooks")], says_why_it_cannot_start),
    trial(&[15], &[Need::Function("check_hooks")], logs_while_it_starts),
];

fn comes_up_and_stops(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    link.ping(34)?;
    link.finish()
}

fn attaches(bench: &Bench) -> Kept {
    let mut link = bench.attached()?;
    hear_hello(&mut link)?;
    welcome(&mut link, Setup::default().welcome.encode());
    hear_ready(&mut link)?;
    link.finish()
}

/// As Linux tells: the flags of a descriptor stand in /proc.
fn hides_its_lanes(bench: &Bench) -> Kept {
    let (mut link, hello) = bench.greeted(&Setup::default())?;
    hear_ready(&mut link)?;
    for number in [3, 4] {
        close_on_exec(56, hello.pid, number)?;
    }
    link.finish()
}

/// A descriptor that is no longer there is hidden best.
pub(super) fn close_on_exec(rule: u8, pid: u64, number: i32) -> Kept {
    let Ok(told) = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")) else { return Ok(()) };
    let flags = told.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or("0").trim();
    let flags = u32::from_str_radix(flags, 8).unwrap_or_default();
    let expected = format!("descriptor {number} marked close-on-exec once it is ready");
    ensure(flags & CLOSE_ON_EXEC != 0, rule, &expected, || format!("flags {flags:o}"))
}

const CLOSE_ON_EXEC: u32 = 0o2_000_000;

fn reads_a_short_and_a_rich_welcome(bench: &Bench) -> Kept {
    let version = Value::from(u64::from(VERSION));
    let later = Value::Map(vec![("deep".to_owned(), Value::List(vec![Value::Nil, 1.into()]))]);
    let short = vec![("version".to_owned(), version.clone())];
    let rich = vec![("something_new".to_owned(), later), ("version".to_owned(), version)];
    for map in [short, rich] {
        let mut link = bench.started(&Setup::default())?;
        hear_hello(&mut link)?;
        welcome(&mut link, Value::Map(map).encode());
        hear_ready(&mut link).map_err(|breach| Breach { rule: 5, ..breach })?;
        link.finish()?;
    }
    Ok(())
}

fn refuses_a_version_that_it_did_not_offer(bench: &Bench) -> Kept {
    let mut setup = Setup::default();
    setup.welcome.version = bench.hello.max_version + 1;
    let (link, _) = bench.greeted(&setup)?;
    link.refuses(12, "WELCOME with a version that it did not offer")
}

fn ends_when_nobody_welcomes_it(bench: &Bench) -> Kept {
    let mut link = bench.started(&Setup::default())?;
    hear_hello(&mut link)?;
    link.close(Lane::Control);
    link.close(Lane::Data);
    link.exit(12, "the end, since both lanes ended before WELCOME").map(drop)
}

fn ends_when_the_host_goes_while_it_starts(bench: &Bench) -> Kept {
    let (mut link, _) = bench.greeted(&Setup::default())?;
    link.close(Lane::Control);
    link.close(Lane::Data);
    link.exit(1, "the end, since both lanes ended while it started").map(drop)
}

fn refuses_a_second_welcome(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    welcome(&mut link, Setup::default().welcome.encode());
    link.refuses(40, "a second WELCOME")
}

fn stops_although_it_is_not_ready(bench: &Bench) -> Kept {
    let mut link = bench.started(&Setup::default())?;
    link.stop();
    hear_hello(&mut link)?;
    welcome(&mut link, Setup::default().welcome.encode());
    hear_ready(&mut link)?;
    link.exits_with(35, 0)
}

fn says_why_it_cannot_start(bench: &Bench) -> Kept {
    let (mut link, hello) = bench.greeted(&Setup { fail_at_start: true, ..Setup::default() })?;
    let expected = "ERROR START_FAILED with seq 0 when a start-up hook fails";
    let first = |_: Lane, frame: &Frame| matches!(frame.kind, Kind::Error | Kind::Ready);
    let frame = link.wait(14, expected, first)?;
    let report = ErrorReport::decode(&frame.body).unwrap_or_default();
    ensure(frame.kind == Kind::Error, 14, expected, || describe(&frame))?;
    let told = !report.message.is_empty() && report.language == hello.language;
    ensure(told, 14, "a message and the language in it", || format!("{report:?}"))?;
    link.exits_with(14, 1)
}

fn logs_while_it_starts(bench: &Bench) -> Kept {
    let (mut link, _) = bench.greeted(&Setup::default())?;
    let logged = |_: Lane, frame: &Frame| frame.kind == Kind::Log && frame.seq == 0;
    link.wait(15, "LOG from the start-up hook of check_hooks", logged)?;
    hear_ready(&mut link)?;
    link.finish()
}

fn welcome(link: &mut Link, body: Vec<u8>) {
    link.send(Lane::Control, &Frame::new(Kind::Welcome, 0).with_body(body));
}
