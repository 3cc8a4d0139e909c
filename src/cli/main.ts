import { wantsJson } from './globals';
import { Interruption } from './interruption';
import { Output } from './output';
import { parse, type Parsed } from './parse';
import { run } from './run';
import { type Complaint, complain } from './sentences';
import { UsageError } from './usage';

const exitCodes = { done: 0, failed: 1, usage: 2 } as const;

async function main(argv: readonly string[]): Promise<number> {
  let parsed: Parsed;
  try {
    parsed = parse(argv);
  } catch (error) {
    const output = outputFor(wantsJson(argv));
    report(output, complain(error));
    return finish(output, error instanceof UsageError ? exitCodes.usage : exitCodes.failed);
  }
  if (parsed.kind === 'run') return perform(parsed);
  const output = outputFor(wantsJson(argv));
  if (output.json) output.document(parsed.json);
  else output.write(parsed.text);
  return finish(output, exitCodes.done);
}

async function perform({ selection }: Extract<Parsed, { kind: 'run' }>): Promise<number> {
  const output = outputFor(selection.globals.json);
  const interruption = new Interruption();
  try {
    const reply = await run(selection, output, interruption.signal);
    if (output.json) output.document(reply.json);
    else output.write(await reply.text(output));
    return await finish(output, reply.exitCode ?? exitCodes.done);
  } catch (error) {
    report(output, complain(error));
    if (process.env['OPENCODE_CHECKPOINTS_DEBUG'] && error instanceof Error) output.note(error.stack ?? '');
    const failed = error instanceof UsageError ? exitCodes.usage : exitCodes.failed;
    return finish(output, interruption.exitCode ?? failed);
  }
}

const outputFor = (json: boolean): Output => new Output(process.stdout, process.stderr, json, process.env);

function report(output: Output, { reason, message, wayOut }: Complaint): void {
  if (output.json) output.document({ error: { reason, message: `${message} ${wayOut}` } });
  else output.note(`${output.errorStyle.red('error:')} ${message}\n${wayOut}`);
}

async function finish(output: Output, code: number): Promise<number> {
  const failure = await output.flush();
  if (failure === null) return code;
  // What the command did is done. Who reads half of a file must not take it for all of it.
  output.note(`${output.errorStyle.red('error:')} The output could not be written: ${failure.message}.`);
  await output.flush();
  return code === exitCodes.done ? exitCodes.failed : code;
}

// Nothing is left that could go on, and the command has not come to its end: that must not pass for success.
process.once('beforeExit', () => {
  const output = outputFor(wantsJson(process.argv.slice(2)));
  report(output, complain(new Error('The command stopped half way: something it waited for never answered')));
  void finish(output, exitCodes.failed).then((code) => process.exit(code));
});

void main(process.argv.slice(2)).then(
  // Leaving at once: a git process that is still winding down would keep the event loop, and the shell, waiting.
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(exitCodes.failed);
  },
);
