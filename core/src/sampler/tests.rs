//! The samplers on real processes that take memory.
#![cfg(target_os = "linux")]

use super::portable::SysinfoSampler;
use super::{Memory, Sampler, for_this_system};
use crate::process::tests::{pid_from, shell, started, until};
use crate::process::{Child, Launch};

const MIB: u64 = 1 << 20;

/// A Python worker that has run `code` and now waits for its lane to end.
fn python(code: &str) -> Child {
    let wait = "os.write(3, b'%d\\n' % os.getpid()); os.read(4, 1)";
    let argv = ["python3", "-S", "-c", &format!("import os\n{code}\n{wait}")].map(Into::into).into();
    let child = started(Launch { argv, ..Launch::default() }).unwrap();
    pid_from(&child.data);
    child
}

fn sample(sampler: &mut impl Sampler, child: &Child) -> Memory {
    sampler.sample(&[child.process.pid()])[0].expect("it runs")
}

#[test]
fn the_portable_sampler_sees_what_a_worker_takes() {
    let (small, large) = (python(""), python("kept = bytearray(os.urandom(64 << 20))"));
    let mut sampler = SysinfoSampler::new();
    let taken = sample(&mut sampler, &large).private_bytes() - sample(&mut sampler, &small).private_bytes();
    assert!(taken > 60 * MIB && taken < 80 * MIB, "{taken}");
    assert_eq!(sampler.confirm(large.process.pid()), None);
}

#[test]
fn the_host_tells_what_is_left() {
    let left = super::headroom().unwrap();
    assert!((1 << 20..1 << 50).contains(&left), "{left}");
}

#[test]
fn a_worker_that_has_ended_has_no_memory() {
    let child = started(shell("exit 0")).unwrap();
    let pid = child.process.pid();
    drop(child);
    until("it is gone", || crate::process::tests::state(pid).is_none());
    assert_eq!(for_this_system().sample(&[pid]), [None]);
    assert_eq!(SysinfoSampler::new().sample(&[pid]), [None]);
}

#[cfg(feature = "linux-extras")]
mod fast {
    use super::super::linux::ProcSampler;
    use super::*;

    fn near(one: u64, other: u64) -> bool {
        one.abs_diff(other) * 20 <= one.max(other)
    }

    #[test]
    fn both_samplers_agree_on_resident_memory() {
        let child = python("kept = bytearray(os.urandom(64 << 20))");
        let (fast, portable) =
            (sample(&mut ProcSampler::new(), &child), sample(&mut SysinfoSampler::new(), &child));
        assert!(near(fast.resident_bytes, portable.resident_bytes), "{fast:?} {portable:?}");
        assert_eq!((fast.processes, portable.processes), (1, 1));
    }

    #[test]
    fn both_agree_on_a_tree_and_so_do_both_ways_to_find_it() {
        let fork = "kept = bytearray(os.urandom(32 << 20))\nif os.fork() == 0: os.fork()";
        let child = python(fork);
        let mut samplers: [Box<dyn Sampler>; 3] = [
            Box::new(ProcSampler::new()),
            Box::new(ProcSampler::without_lists_of_children()),
            Box::new(SysinfoSampler::new()),
        ];
        let pid = child.process.pid();
        for sampler in &mut samplers {
            until("all three are there", || {
                sampler.sample(&[pid])[0].is_some_and(|found| found.processes == 3)
            });
        }
        let [fast, walked, portable] = samplers.each_mut().map(|sampler| sampler.sample(&[pid])[0].unwrap());
        assert!(near(fast.resident_bytes, portable.resident_bytes), "{fast:?} {portable:?}");
        assert!(near(fast.private_bytes(), walked.private_bytes()), "{fast:?} {walked:?}");
    }

    #[test]
    fn shared_memory_does_not_count() {
        let child = python("import mmap\narena = mmap.mmap(-1, 64 << 20); arena[:] = os.urandom(64 << 20)");
        let memory = sample(&mut ProcSampler::new(), &child);
        assert!(memory.resident_bytes > 64 * MIB && memory.shared_bytes > 64 * MIB, "{memory:?}");
        assert!(memory.private_bytes() < 32 * MIB, "{memory:?}");
        let confirmed = ProcSampler::new().confirm(child.process.pid()).unwrap();
        assert!(confirmed < 32 * MIB, "{confirmed}");
    }

    #[test]
    fn what_a_limit_counts_is_seen_before_it_is_touched() {
        let code = "import mmap\nkept = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)";
        let child = python(code);
        let memory = sample(&mut ProcSampler::new(), &child);
        assert!(memory.own_limited_bytes > 64 * MIB, "{memory:?}");
        assert!(memory.own_resident_bytes < 32 * MIB, "{memory:?}");
    }

    #[test]
    fn confirming_counts_pages_of_a_forked_tree_once() {
        let child = python("kept = bytearray(os.urandom(64 << 20))\nos.fork() or os.fork()");
        let mut sampler = ProcSampler::new();
        until("three processes", || sample(&mut sampler, &child).processes == 3);
        let (sum, once) = (sample(&mut sampler, &child), sampler.confirm(child.process.pid()).unwrap());
        assert!(sum.private_bytes() > 128 * MIB, "{sum:?}");
        assert!(once > 64 * MIB && once < 100 * MIB, "{once}");
    }

    #[test]
    fn a_sample_is_current_and_not_a_peak() {
        let code = "kept = bytearray(os.urandom(64 << 20)); os.write(3, b'1\\n'); os.read(4, 1); del kept";
        let argv =
            ["python3", "-S", "-c", &format!("import os\n{code}\nos.write(3, b'2\\n'); os.read(4, 1)")]
                .map(Into::into)
                .into();
        let child = started(Launch { argv, ..Launch::default() }).unwrap();
        let mut sampler = ProcSampler::new();
        pid_from(&child.data);
        let high = sample(&mut sampler, &child).private_bytes();
        std::io::Write::write_all(&mut &*child.control, b"x").unwrap();
        pid_from(&child.data);
        let low = sample(&mut sampler, &child).private_bytes();
        assert!(high > 64 * MIB && low < 32 * MIB, "{high} {low}");
    }
}
