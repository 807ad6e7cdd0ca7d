//! The language model: weights and vocabulary of one GGUF file, and answers made with them.

use crate::template::Turn;
use anyhow::{Context, Result, anyhow};
use candle_core::quantized::gguf_file::{self, Content};
use candle_core::quantized::tokenizer::TokenizerFromGguf;
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use candle_transformers::models::quantized_llama::{MAX_SEQ_LEN, ModelWeights};
use candle_transformers::utils::apply_repeat_penalty;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;
use tokenizers::Tokenizer;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;

/// Tokens of a prompt that are read between two looks at the client.
const CHUNK: usize = 128;
/// Prompts whose state is kept, so that a request which goes on from one of them is not read from its beginning. One takes
/// some 46 KB a token.
const KEPT: usize = 4;
/// How much less likely a token gets that is among the last ones. Without it a model of this size repeats itself for ever.
const REPEAT_PENALTY: f32 = 1.1;
/// How many last ones.
const REPEAT_REACH: usize = 128;

/// A model and its vocabulary.
pub(crate) struct Language {
    fresh: ModelWeights,
    tokenizer: Tokenizer,
    context: usize,
    begin_turn: u32,
    ends: Vec<u32>,
    kept: Vec<Kept>,
}

/// A prompt that was read.
struct Kept {
    ids: Vec<u32>,
    state: ModelWeights,
    /// What the model expects behind it.
    logits: Tensor,
}

/// Why an answer is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The model ended its turn.
    Stop,
    /// It reached the limit.
    Length,
    /// Nobody listens any more.
    Left,
}

/// What an answer took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) finish: Finish,
    /// Tokens of the prompt that were not read again.
    pub(crate) cached: usize,
    /// Tokens of the answer, with the one that ends it.
    pub(crate) output: usize,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Go {
    On,
    Stop,
}

impl Language {
    /// Reads a GGUF file of a Llama with a byte-level BPE vocabulary, which is what SmolLM2 is.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let mut file =
            BufReader::new(File::open(path).with_context(|| format!("can't open {}", path.display()))?);
        let content =
            Content::read(&mut file).with_context(|| format!("{} is no GGUF file", path.display()))?;
        let tokenizer = vocabulary(&content)?;
        let trained =
            content.metadata.get("llama.context_length").map(gguf_file::Value::to_u32).transpose()?;
        let id = |token: &str| {
            tokenizer
                .token_to_id(token)
                .ok_or_else(|| anyhow!("the vocabulary has no {token}: no ChatML model"))
        };
        let (begin_turn, end_turn) = (id("<|im_start|>")?, id("<|im_end|>")?);
        let ends = [Some(end_turn), tokenizer.token_to_id("<|endoftext|>")].into_iter().flatten().collect();
        let fresh = weights(content, &mut file)?;
        let context = trained.map_or(MAX_SEQ_LEN, |trained| (trained as usize).min(MAX_SEQ_LEN));
        Ok(Self { fresh, tokenizer, context, begin_turn, ends, kept: Vec::new() })
    }

    /// The most tokens that prompt and answer can have together.
    pub(crate) fn context(&self) -> usize {
        self.context
    }

    /// The tokens of a conversation, up to where the model's turn begins.
    pub(crate) fn prompt(&self, turns: &[Turn]) -> Result<Vec<u32>> {
        let end = self.ends.first().copied().unwrap_or(self.begin_turn);
        let line_end = self.encode("\n")?;
        let mut ids = Vec::new();
        for turn in turns {
            ids.push(self.begin_turn);
            ids.extend(self.encode(&format!("{}\n{}", turn.role, turn.text))?);
            ids.push(end);
            ids.extend(&line_end);
        }
        ids.push(self.begin_turn);
        ids.extend(self.encode("assistant\n")?);
        Ok(ids)
    }

    /// Tokens of a text. Marks of turns in it are ordinary words.
    fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.tokenizer.encode(text, false).map_err(|error| anyhow!(error))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Answers a prompt with at most `most` tokens, always the likeliest one. `hear` is told each piece of text as it comes,
    /// and an empty one while the prompt is read.
    pub(crate) fn answer(
        &mut self,
        prompt: &[u32],
        most: usize,
        hear: &mut dyn FnMut(&str) -> Go,
    ) -> Result<Made> {
        let (mut state, mut logits, cached) = match self.start(prompt) {
            Some(kept) => (kept.state.clone(), Some(kept.logits.clone()), kept.ids.len()),
            None => (self.fresh.clone(), None, 0),
        };
        let mut read = cached;
        for chunk in prompt[cached..].chunks(CHUNK) {
            if hear("") == Go::Stop {
                return Ok(Made { finish: Finish::Left, cached, output: 0 });
            }
            logits = Some(forward(&mut state, chunk, read)?);
            read += chunk.len();
        }
        let Some(mut logits) = logits else { return Err(anyhow!("the prompt is empty")) };
        self.keep(prompt, &state, &logits);
        let mut all = prompt.to_vec();
        let mut pending = Vec::new();
        loop {
            let output = all.len() - prompt.len();
            if output >= most {
                hear(&self.decode(&pending)?);
                return Ok(Made { finish: Finish::Length, cached, output });
            }
            let token = likeliest(&logits, &all)?;
            if self.ends.contains(&token) {
                hear(&self.decode(&pending)?);
                return Ok(Made { finish: Finish::Stop, cached, output: output + 1 });
            }
            all.push(token);
            pending.push(token);
            let text = self.decode(&pending)?;
            // A character can take several tokens.
            let is_whole = !text.ends_with('\u{fffd}');
            if is_whole {
                pending.clear();
            }
            if hear(if is_whole { &text } else { "" }) == Go::Stop {
                return Ok(Made { finish: Finish::Left, cached, output: output + 1 });
            }
            if output + 1 < most {
                logits = forward(&mut state, &[token], all.len() - 1)?;
            }
        }
    }

    fn decode(&self, ids: &[u32]) -> Result<String> {
        self.tokenizer.decode(ids, false).map_err(|error| anyhow!(error))
    }

    /// The longest prompt that this one goes on from.
    fn start(&self, prompt: &[u32]) -> Option<&Kept> {
        self.kept.iter().filter(|kept| prompt.starts_with(&kept.ids)).max_by_key(|kept| kept.ids.len())
    }

    fn keep(&mut self, prompt: &[u32], state: &ModelWeights, logits: &Tensor) {
        self.kept.retain(|kept| kept.ids != prompt);
        if self.kept.len() >= KEPT {
            self.kept.remove(0);
        }
        self.kept.push(Kept { ids: prompt.to_vec(), state: state.clone(), logits: logits.clone() });
    }
}

fn forward(state: &mut ModelWeights, ids: &[u32], at: usize) -> Result<Tensor> {
    let input = Tensor::new(ids, &Device::Cpu)?.unsqueeze(0)?;
    Ok(state.forward(&input, at)?.squeeze(0)?)
}

fn likeliest(logits: &Tensor, said: &[u32]) -> Result<u32> {
    let reach = said.len().saturating_sub(REPEAT_REACH);
    let logits = apply_repeat_penalty(logits, REPEAT_PENALTY, &said[reach..])?;
    Ok(logits.argmax(0)?.to_scalar::<u32>()?)
}

/// The vocabulary, with SmolLM's way to take text apart: digits one by one, no space put before the first word.
fn vocabulary(content: &Content) -> Result<Tokenizer> {
    let mut tokenizer = Tokenizer::from_gguf(content).context("the file's vocabulary can't be used")?;
    let parts: Vec<PreTokenizerWrapper> =
        vec![Digits::new(true).into(), ByteLevel::new(false, true, true).into()];
    tokenizer.with_pre_tokenizer(Some(Sequence::new(parts)));
    // Without this a text that holds a mark of ChatML would end a turn.
    tokenizer.set_encode_special_tokens(true);
    Ok(tokenizer)
}

/// The weights. What is packed in a way for which there is no fast arithmetic here is packed anew, with eight bits a weight.
fn weights<R: Read + Seek>(content: Content, file: &mut R) -> Result<ModelWeights> {
    let device = Device::Cpu;
    let is_slow = |dtype: GgmlDType| matches!(dtype, GgmlDType::Q4_1 | GgmlDType::Q5_0 | GgmlDType::Q5_1);
    if !content.tensor_infos.values().any(|info| is_slow(info.ggml_dtype)) {
        return Ok(ModelWeights::from_gguf(content, file, &device)?);
    }
    let mut tensors: Vec<(&str, QTensor)> = Vec::with_capacity(content.tensor_infos.len());
    for (name, info) in &content.tensor_infos {
        let tensor = content.tensor(file, name, &device)?;
        let tensor = if is_slow(info.ggml_dtype) {
            QTensor::quantize(&tensor.dequantize(&device)?, GgmlDType::Q8_0)?
        } else {
            tensor
        };
        tensors.push((name, tensor));
    }
    let metadata: Vec<(&str, &gguf_file::Value)> =
        content.metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, tensor)| (*name, tensor)).collect();
    let mut packed = Cursor::new(Vec::new());
    gguf_file::write(&mut packed, &metadata, &tensors)?;
    packed.set_position(0);
    let content = Content::read(&mut packed)?;
    Ok(ModelWeights::from_gguf(content, &mut packed, &device)?)
}
