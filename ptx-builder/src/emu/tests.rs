//! Tests of the whole emulator on kernels written as PTX text: every detector on a kernel that is right and on the same
//! kernel with one barrier, guard or initialization removed.

use super::*;
use crate::parse::parse;

mod atomics;
mod barriers;
mod bounds;
mod copies;
mod coverage;
mod lanes;
mod races;
mod values;

/// A kernel's launch in the making.
pub(crate) struct Case {
    module: Module,
    pub(crate) memory: Memory,
    args: Vec<ArgValue>,
    launch: Launch,
    pub(crate) options: Options,
}

impl Case {
    /// A kernel `k` with the given parameters, shared arrays and body; its registers are those of [`REGISTERS`].
    pub(crate) fn new(params: &str, body: &str, blocks: u32, threads: u32) -> Case {
        // A dynamic array for the kernels that want one.
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .u32 all[];\n\
             .visible .entry k({params}) {{ {REGISTERS}\n{body}\nret;\n}}\n"
        );
        let module = match parse(&text) {
            Ok(parsed) => parsed.module,
            Err(errors) => panic!("{errors}\n{text}"),
        };
        Case {
            module,
            memory: Memory::new(),
            args: Vec::new(),
            launch: Launch::linear(blocks, threads),
            options: Options::default(),
        }
    }

    /// Passes a buffer of words.
    pub(crate) fn words(self, name: &str, access: Access, words: &[u32]) -> Case {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.buffer(name, access, Contents::Bytes(bytes))
    }

    /// Passes a buffer.
    pub(crate) fn buffer(mut self, name: &str, access: Access, contents: Contents) -> Case {
        let id = self.memory.add(name, access, contents);
        self.args.push(ArgValue::Buffer(id, 0));
        self
    }

    /// Passes a buffer that nobody has written.
    pub(crate) fn output(self, name: &str, words: u64) -> Case {
        self.buffer(name, Access::WriteOnly, Contents::Uninit(4 * words))
    }

    /// Adds a buffer of words that is no argument.
    pub(crate) fn words_unbound(mut self, name: &str, words: &[u32]) -> Case {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.memory.add(name, Access::ReadWrite, Contents::Bytes(bytes));
        self
    }

    /// Passes a scalar.
    pub(crate) fn scalar(mut self, bits: u64) -> Case {
        self.args.push(ArgValue::Scalar(bits));
        self
    }

    pub(crate) fn try_run(&mut self) -> Result<Outcome, Error> {
        run(&self.module, "k", &self.launch, &self.args, &mut self.memory, &self.options)
    }

    /// Runs it with one thread and with several: everything must be the same.
    pub(crate) fn run(&mut self) -> Outcome {
        let ids: Vec<BufferId> = (0..self.memory.buffers.len() as u32).map(BufferId).collect();
        let before = self.memory.snapshot();
        self.options.threads = 1;
        let one = self.try_run().unwrap_or_else(|error| panic!("{error}"));
        let results: Vec<Vec<u8>> = ids.iter().map(|id| self.memory.bytes(*id)).collect();
        self.memory.restore(&before);
        self.options.threads = 3;
        let many = self.try_run().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(one, many);
        assert_eq!(results, ids.iter().map(|id| self.memory.bytes(*id)).collect::<Vec<_>>());
        one
    }

    /// Runs it; no detector may fire.
    pub(crate) fn clean(&mut self) -> Outcome {
        let outcome = self.run();
        let found: Vec<String> = outcome.findings.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
        assert!(outcome.completed);
        outcome
    }

    /// Runs it; just one finding of the kind, and nothing else.
    pub(crate) fn only(&mut self, kind: Kind) -> Finding {
        let outcome = self.run();
        let found: Vec<String> = outcome.findings.iter().map(ToString::to_string).collect();
        assert_eq!(outcome.findings.len(), 1, "{}", found.join("\n"));
        assert_eq!(outcome.findings[0].kind, kind, "{}", found.join("\n"));
        outcome.findings[0].clone()
    }

    /// The words of an argument's buffer.
    pub(crate) fn result(&self, argument: usize) -> Vec<u32> {
        let ArgValue::Buffer(id, _) = self.args[argument] else { panic!("a scalar") };
        let bytes = self.memory.bytes(id);
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
    }
}

/// What bodies may use.
const REGISTERS: &str = ".reg .u32 %r<20>; .reg .u64 %d<10>; .reg .f32 %f<10>; .reg .pred %p<5>; .reg .b32 %b<10>; .reg .b16 %h<10>;";

/// Loads the parameter `x` into `%d0` and adds four times the thread's index: `%d1` is its word, `%r0` the thread,
/// `%r1` the block, `%r2` the thread in the grid.
pub(crate) const PROLOG: &str = "
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r2, %r1, %r3, %r0;
    ld.param.u64 %d0, [x];
    mad.wide.u32 %d1, %r2, 4, %d0;
";

/// The parameters of most kernels here.
pub(crate) const XY: &str = ".param .u64 x, .param .u64 y";
