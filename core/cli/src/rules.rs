//! The rules of SPEC by number: in a few words, and why one may go unchecked.

/// The number of a rule, as SPEC counts them.
pub(crate) type Rule = u8;

/// A rule of SPEC.
#[derive(Debug)]
pub(crate) struct RuleRow {
    pub(crate) number: Rule,
    pub(crate) text: &'static str,
    /// Why no trial shows it; none if one does.
    pub(crate) unseen: Option<&'static str>,
}

const fn rule(number: Rule, text: &'static str) -> RuleRow {
    RuleRow { number, text, unseen: None }
}

const fn unseen(number: Rule, text: &'static str, why: &'static str) -> RuleRow {
    RuleRow { number, text, unseen: Some(why) }
}

#[rustfmt::skip] // A rule is read across.
pub(crate) const RULES: &[RuleRow] = &[
    rule(1, "ends at once when a lane ends"),
    rule(2, "leaves descriptors 0, 1 and 2 to prints"),
    rule(3, "keeps every frame on its own lane"),
    rule(4, "reads and writes headers as they are laid out"),
    rule(5, "reads short, long and odd bodies as it must, refuses malformed ones"),
    rule(6, "keeps to the limits of bodies and payloads"),
    rule(7, "speaks of calls and pings by their seq, which must rise"),
    rule(8, "ends a call with one RESULT or ERROR, and says nothing of it after"),
    rule(9, "puts pieces of payloads together"),
    rule(10, "tells interleaved, abandoned and stray pieces apart"),
    rule(11, "says HELLO (or ATTACH) first on control"),
    rule(12, "ends without a common version"),
    rule(13, "says READY once, first on data; bears an early STOP"),
    rule(14, "says why it cannot start, and exits with code 1"),
    rule(15, "may log while it starts"),
    rule(16, "starts each call at once"),
    rule(17, "says that it has no such function, and names the nearest"),
    rule(18, "takes a value or arguments"),
    rule(19, "says that and where an input does not fit"),
    rule(20, "says that a result cannot be encoded, and lives on"),
    rule(21, "tells functions their attempt and remaining time"),
    rule(22, "tells functions their trace context"),
    rule(23, "reads raw bytes, refuses encodings that it does not know"),
    rule(24, "writes its answer before it ends"),
    rule(25, "asks a cancelled call to stop, which ends once"),
    rule(26, "ignores late cancels, remembers early ones"),
    rule(27, "handles a cancel while functions run"),
    rule(28, "does not end over a cancel"),
    rule(29, "streams within its credit, and gives credit for what it reads"),
    rule(30, "blocks nothing while it waits for credit"),
    rule(31, "answers with a list where it cannot stream"),
    rule(32, "reports errors whole, or cut to size"),
    rule(33, "ends when a function says so"),
    rule(34, "answers a ping"),
    rule(35, "stops after its calls and its hooks, with exit code 0"),
    rule(36, "runs no hook when the host is gone"),
    unseen(37, "does not see the terminal's interrupt", "the host's affair"),
    rule(38, "passes on what a call logs and how far it is"),
    rule(39, "returns values as they are, refuses other extensions and keys"),
    rule(40, "ends with exit code 70 and a line when it sees a violation"),
    rule(41, "ignores what later versions may add"),
    rule(42, "agrees on shared memory, and hides it from its children"),
    rule(43, "follows references, and only those within an arena"),
    unseen(44, "lets go of the input's memory with its answer", "it is not seen from outside"),
    rule(45, "leaves memory alone that it lent to the host"),
    rule(46, "does without shared memory where there is no room"),
    rule(47, "reads pickles with buffers beside them"),
    unseen(48, "keeps what functions write to pickled buffers to itself", "it is not seen from outside"),
    rule(49, "keeps items in order, and within their credit"),
    rule(50, "gives credit in time for what it reads"),
    rule(51, "ignores items that nobody reads"),
    rule(52, "cancels who waits for items or credit"),
    rule(53, "says that an item is too large or does not fit"),
    rule(54, "gives the memory of items back"),
    unseen(55, "reads items for who wants a list", "the host's affair"),
    rule(56, "hides its lanes from its children"),
    unseen(57, "gets batches of what takes them, whole and in order", "the host's affair"),
    rule(58, "ends each call of a batch for itself"),
    rule(59, "lets a cancelled call of a batch go"),
    rule(60, "agrees on calls handed over ahead, and hides its claims from its children"),
    unseen(61, "gets ahead only what goes by itself, with a token", "the host's affair"),
    rule(62, "takes up each call in its turn, and none that was taken back"),
    rule(63, "remembers the cancel of a call that waits for its turn"),
];

/// The highest number.
pub(crate) const LAST_RULE: Rule = RULES[RULES.len() - 1].number;
