//! The scripted server as a process.

use super::player::{Out, Player};
use serde_json::Value;
use std::io::{BufRead, Write};

struct Stdout;

impl Out for Stdout {
    fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    fn raw(&mut self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        // Whoever does not listen any more has gone.
        let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
    }
}

/// Serves this process's stdin and stdout until stdin is closed.
pub fn serve(script: Value) {
    let player = Player::new(script);
    if let Some(steps) = player.steps("start") {
        player.play(&steps, &Value::Null, &mut Stdout);
    }
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if let Ok(message) = serde_json::from_str(&line) {
            player.take(&message, &mut Stdout);
        }
    }
    while player.entry("stay").is_some() {
        std::thread::park();
    }
}
