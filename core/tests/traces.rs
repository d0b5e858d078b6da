//! What core tells through `tracing`: to whoever subscribes in the app, with the pool's name.

mod support;

use std::fmt::Debug;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use serde_json::json;
use support::{call_with, pool, until};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

type Told = Arc<Mutex<Vec<(Level, String)>>>;

/// Writes down every event of core: its level, and its fields as text.
struct Listener(Told);

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("ganger")
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().expect("no listener panics").push((*event.metadata().level(), text.0));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}

#[test]
fn kills_and_strangers_are_told() {
    let told = Told::default();
    tracing::subscriber::set_global_default(Listener(Arc::clone(&told))).unwrap();
    let heard = |level, words: &[&str]| {
        let told = told.lock().unwrap();
        told.iter().any(|(at, text)| *at == level && words.iter().all(|word| text.contains(word)))
    };

    let pool = pool(json!({ "name": "traced", "cancel_grace": "10ms", "endpoint": true }));
    assert!(call_with(&pool, "stubborn", json!({}), json!({ "timeout": "50ms" })).is_err());
    until("the kill is told", || heard(Level::DEBUG, &["killing a worker", "pool=traced", "worker="]));

    let address = pool.invite().unwrap().address;
    UnixStream::connect(address).unwrap().write_all(&[0xff; 64]).unwrap();
    until("the stranger is told of", || heard(Level::WARN, &["did not introduce itself", "error="]));
    pool.terminate_blocking();
}
