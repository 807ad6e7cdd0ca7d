//! How work is told to stop.

use crate::output::yellow;
use crate::terminal::keys::terminated;
use throughline_model::CancelToken;

/// A token that ctrl-C or a request to terminate cancels. Who asks again does not wait: what was not given back is due when its lease is over.
pub(crate) fn stop_on_signals(says: &'static str) -> CancelToken {
    let stop = CancelToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        asked().await;
        told.cancel();
        crate::errln!("{} {says}", yellow("stopping:"));
        asked().await;
        std::process::exit(INTERRUPTED);
    });
    stop
}

/// As a shell would call it.
pub(crate) const INTERRUPTED: i32 = 130;

async fn asked() {
    tokio::select! {
        heard = tokio::signal::ctrl_c() => if heard.is_err() {
            std::future::pending::<()>().await;
        },
        () = terminated() => {}
    }
}
