//! What a context is made of, as a bar.

use crate::local::story::{Fate, Share};
use throughline_core::words::{escape, grouped, short};

/// Something that takes up room in a context, or would.
pub(super) struct Piece {
    pub(super) name: String,
    /// Of the stylesheet.
    pub(super) class: &'static str,
    pub(super) tokens: u64,
    /// Not sent.
    pub(super) is_away: bool,
    /// What it is, in a sentence.
    pub(super) means: String,
}

/// What the model sees and what it is spared, by fate.
pub(super) fn pieces(shares: &[(Fate, Share)], overhead: Option<u64>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if let Some(tokens) = overhead {
        pieces.push(Piece {
            name: "system and tools".to_owned(),
            class: "f-frame",
            tokens,
            is_away: false,
            means: "What the client sends before the messages.".to_owned(),
        });
    }
    for (fate, share) in shares {
        pieces.push(Piece {
            name: fate.name().to_owned(),
            class: class(*fate),
            tokens: share.shown,
            is_away: false,
            means: fate.means().to_owned(),
        });
    }
    for (fate, share) in shares {
        let (name, means) = match fate {
            Fate::AsSaid | Fate::Ours => continue,
            Fate::Replaced => ("spared: replaced", "What previews and notes stand for."),
            Fate::Condensed => ("spared: condensed", fate.means()),
            Fate::Dropped => ("spared: dropped", fate.means()),
        };
        pieces.push(Piece {
            name: name.to_owned(),
            class: class(*fate),
            tokens: share.spared,
            is_away: true,
            means: means.to_owned(),
        });
    }
    pieces.retain(|piece| piece.tokens > 0);
    pieces
}

/// The bar; its pieces are as long as they have tokens.
pub(super) fn bar(pieces: &[Piece]) -> String {
    const WIDTH: f64 = 1000.0;
    /// Between two pieces.
    const GAP: f64 = 2.0;
    let all = pieces.iter().map(|piece| piece.tokens).sum::<u64>().max(1) as f64;
    let label: Vec<String> =
        pieces.iter().map(|piece| format!("{} {}", grouped(piece.tokens), piece.name)).collect();
    let mut out = format!(
        "<svg class=\"bar\" viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Tokens: {}\">",
        escape(&label.join(", "))
    );
    let mut x = 0.0;
    for piece in pieces {
        let width = piece.tokens as f64 / all * WIDTH;
        let away = if piece.is_away { " away" } else { "" };
        out.push_str(&format!(
            "<rect class=\"{}{away}\" x=\"{x:.1}\" y=\"0\" width=\"{:.1}\" height=\"20\"><title>{}: {} tokens</title></rect>",
            piece.class,
            (width - GAP).max(1.0),
            escape(&piece.name),
            grouped(piece.tokens)
        ));
        x += width;
    }
    out.push_str("</svg>\n");
    out
}

/// What the colours mean, with figures.
pub(super) fn legend(pieces: &[Piece]) -> String {
    let all = pieces.iter().map(|piece| piece.tokens).sum::<u64>().max(1) as f64;
    let mut out = "<ul class=\"legend\">\n".to_owned();
    for piece in pieces {
        out.push_str(&format!(
            "<li title=\"{}\"><i class=\"key {}{}\"></i>{} <span class=\"num\">{} · {:.0} %</span></li>\n",
            escape(&piece.means),
            piece.class,
            if piece.is_away { " away" } else { "" },
            escape(&piece.name),
            short(piece.tokens as f64),
            piece.tokens as f64 / all * 100.0,
        ));
    }
    out.push_str("</ul>\n");
    out
}

/// The colour of a fate.
pub(super) fn class(fate: Fate) -> &'static str {
    match fate {
        Fate::AsSaid => "f-said",
        Fate::Replaced => "f-replaced",
        Fate::Condensed => "f-condensed",
        Fate::Dropped => "f-dropped",
        Fate::Ours => "f-ours",
    }
}
