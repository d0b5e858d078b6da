//! A worker whose calls share one model: it is loaded once, however many of them run side by side.

use ganger_worker::schemars::{self, JsonSchema};
use ganger_worker::{BoxError, Cancelled, Context, State, Worker, action};
use serde::{Deserialize, Serialize};

/// 64 MiB of them.
const WEIGHTS: usize = 8 << 20;
/// How many weights a call looks at: they fit into a core's own cache.
const WINDOW: usize = 4096;

struct Model {
    weights: Vec<u64>,
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    seed: u64,
    steps: u64,
}

#[derive(Serialize, JsonSchema)]
struct Answer {
    answer: u64,
    pid: u32,
}

/// Thinks for so many steps.
#[action(idempotent)]
fn predict(question: Question, context: Context, model: State<Model>) -> Result<Answer, Cancelled> {
    let window = model.window(question.seed);
    let mut thought = question.seed;
    for step in 0..question.steps {
        if step % 65_536 == 0 {
            context.check()?;
        }
        thought = (thought ^ window[(thought >> 40) as usize % WINDOW]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    Ok(Answer { answer: thought >> 11, pid: std::process::id() })
}

impl Model {
    fn load() -> Self {
        let mut weight: u64 = 1;
        let next = |_| {
            weight ^= weight << 13;
            weight ^= weight >> 7;
            weight ^= weight << 17;
            weight
        };
        Self { weights: (0..WEIGHTS).map(next).collect() }
    }

    fn window(&self, seed: u64) -> &[u64] {
        let start = seed as usize % (WEIGHTS / WINDOW) * WINDOW;
        &self.weights[start..start + WINDOW]
    }
}

fn main() {
    Worker::new().state(|_| Ok::<_, BoxError>(Model::load())).actions().run()
}
