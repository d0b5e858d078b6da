//! Pings, the ways in which a worker is ended, and that it ends.

use ganger_protocol::Lane;

use super::cancels::begun;
use super::{Need, Trial, trial};
use crate::check::bench::{Bench, Setup};
use crate::check::breach::{Kept, ensure};

pub(super) const TRIALS: &[Trial] = &[
    trial(&[7, 34], &[], answers_pings),
    trial(&[1], &[], ends_with_either_lane),
    trial(&[1], &[Need::Function("check_wait")], ends_with_either_lane_while_a_function_runs),
    trial(&[36], &[Need::Function("check_hooks")], runs_no_hook_when_the_host_is_gone),
    trial(&[35], &[Need::Function("check_wait")], finishes_its_calls_before_it_stops),
    trial(&[35], &[Need::Function("check_hooks")], runs_its_hooks_when_it_stops),
];

fn answers_pings(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::roomy())?;
    for _ in 0..3 {
        link.ping(34)?;
        // Numbers may have gaps.
        link.next_seq();
    }
    link.finish()
}

fn ends_with_either_lane(bench: &Bench) -> Kept {
    for lane in [Lane::Data, Lane::Control] {
        let mut link = bench.ready(&Setup::default())?;
        link.close(lane);
        link.exit(1, &format!("the end, since {lane:?} ended"))?;
    }
    Ok(())
}

fn ends_with_either_lane_while_a_function_runs(bench: &Bench) -> Kept {
    for lane in [Lane::Data, Lane::Control] {
        let mut link = bench.ready(&Setup::default())?;
        begun(&mut link, &bench.function("check_wait"))?;
        link.close(lane);
        link.exit(1, &format!("the end, since {lane:?} ended, although a function runs"))?;
    }
    Ok(())
}

fn runs_no_hook_when_the_host_is_gone(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    link.close(Lane::Control);
    link.close(Lane::Data);
    link.exit(1, "the end, since both lanes ended")?;
    let printed = link.process.stdout();
    ensure(!printed.contains("shutdown"), 36, "no shutdown hook", || format!("{printed:?}"))
}

fn finishes_its_calls_before_it_stops(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = begun(&mut link, &bench.function("check_wait"))?;
    link.stop();
    // Only after STOP was read could a worker drop the call: the answer to the cancel shows that it did not.
    link.count(std::time::Duration::from_millis(200), |_| false)?;
    link.cancel(seq);
    link.answer(35, "the end of the running call, although STOP came", seq)?;
    link.exits_with(35, 0)
}

fn runs_its_hooks_when_it_stops(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    link.stop();
    link.exits_with(35, 0)?;
    let printed = link.process.stdout();
    let expected = "\"shutdown\" on stdout from the shutdown hook of check_hooks";
    ensure(printed.contains("shutdown"), 35, expected, || format!("{printed:?}"))
}
