// Starting a suite in a process group of its own, and finding what it left running.
import { spawn, spawnSync } from 'node:child_process';
import { createWriteStream, existsSync, readFileSync, readdirSync } from 'node:fs';

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Reads a file of /proc; a process that ended meanwhile, or belongs to someone else, reads as nothing. */
function proc(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'EINVAL'].includes(error.code)) return '';
    throw error;
  }
}

/** Where a shell is, and was, says nothing about whose a process is: who has looked into the folder of a demo may work elsewhere by now. */
const environment = (pid) =>
  proc(pid, 'environ')
    .split('\0')
    .filter((variable) => !/^(OLD)?PWD=/.test(variable))
    .join('\0');

/**
 * Processes that belong to a run: in the session that `leader` led, or with `marker` in their environment or
 * arguments. The marker is also in the path of the temporary folder, so a child that was given a new environment
 * and a session of its own is still found by it.
 */
export function processesOf(leader, marker) {
  if (!existsSync('/proc/self/environ')) return listed(leader, marker);
  const found = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const stat = proc(pid, 'stat');
    // The command name stands in parentheses and may hold spaces; what follows it is regular.
    const [state, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (stat === '' || state === 'Z' || state === 'X') continue;
    const command = proc(pid, 'cmdline').replaceAll('\0', ' ').trim();
    if (Number(session) === leader || command.includes(marker) || environment(pid).includes(marker))
      found.push({ pid, command });
  }
  return found;
}

/** Without /proc (macOS) only the process group and the arguments are known. */
function listed(leader, marker) {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,pgid=,stat=,command='], { encoding: 'utf8' });
  return (stdout ?? '')
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line))
    .filter((match) => match && Number(match[1]) !== process.pid && !match[3].startsWith('Z'))
    .filter((match) => Number(match[2]) === leader || match[4].includes(marker))
    .map((match) => ({ pid: Number(match[1]), command: match[4] }));
}

/** What is still there after a short grace: processes that were told to end may take a moment. */
export async function leftovers(leader, marker, graceMs = 5_000) {
  for (const until = Date.now() + graceMs; ; await sleep(200)) {
    const found = processesOf(leader, marker);
    if (found.length === 0 || Date.now() > until) return found;
  }
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** Ends everything of a run, by process id. */
export async function endAll(leader, marker) {
  for (const name of ['SIGTERM', 'SIGKILL'])
    for (const until = Date.now() + 5_000; Date.now() < until; await sleep(200)) {
      const found = processesOf(leader, marker);
      if (found.length === 0) return;
      for (const { pid } of found) signal(pid, name);
    }
}

/**
 * Calls back once when the user or the system wants us to end. npm does not pass SIGTERM on, so when it started us
 * its disappearance counts as well.
 */
export function onInterrupt(callback) {
  let called = false;
  const once = (reason) => {
    if (called) return;
    called = true;
    clearInterval(timer);
    callback(reason);
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => once(name));
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.env.npm_lifecycle_event !== undefined && process.ppid !== parent) once('npm ended');
  }, 1_000);
  timer.unref();
}

/**
 * Runs a command as leader of its own session, its output into `log`. `onStart` gets the leader's id.
 * Never rejects: a command that cannot start answers with `error`.
 */
export function runLogged(command, args, { cwd, env, log, echo, timeoutMs, onStart }) {
  return new Promise((resolve) => {
    const file = createWriteStream(log, { flags: 'a' });
    file.write(`$ ${command} ${args.join(' ')}\n`);
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      signal(-child.pid, 'SIGKILL');
    }, timeoutMs);
    const finish = (result) => {
      clearTimeout(timer);
      file.end(() => resolve({ leader: child.pid, timedOut, ...result }));
    };
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        file.write(chunk);
        if (echo) process.stderr.write(chunk);
      });
    child.on('error', (error) => finish({ code: null, error }));
    // `exit`, not `close`: a process left behind may hold the pipes open for ever.
    child.on('exit', (code) => setTimeout(() => finish({ code }), 100));
    if (child.pid) onStart?.(child.pid);
  });
}
