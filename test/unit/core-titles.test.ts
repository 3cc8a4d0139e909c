import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CheckpointsError } from '../../src/core/errors';
import { triggers } from '../../src/core/model';
import { characterCount, clampCharacters, firstLine, shorten } from '../../src/core/text';
import { cleanName, titleOf, type TitleInput } from '../../src/core/titles';
import { anyText } from './texts';

const turn = { number: 3, prompt: '\n  Fix the\tbug \r\nand then the others' };

describe('titles', () => {
  it.each<[TitleInput, string]>([
    [{ trigger: 'manual', name: 'Mine' }, 'Mine'],
    [{ trigger: 'turn', name: 'Mine', turn }, 'Mine'],
    [{ trigger: 'turn', turn }, 'Fix the bug'],
    [{ trigger: 'turn', turn: { number: 3, prompt: ' \n' } }, 'Turn 3'],
    [{ trigger: 'turn' }, 'Before a prompt'],
    [{ trigger: 'tool', turn, cause: { tool: 'edit', paths: ['src/a.ts'] } }, 'Before edit src/a.ts'],
    [{ trigger: 'tool', cause: { tool: 'patch', paths: ['a', 'b'] } }, 'Before patch a, b'],
    [{ trigger: 'tool', cause: { tool: 'patch', paths: ['a', 'b', 'c'] } }, 'Before patch a and 2 more'],
    [{ trigger: 'tool', cause: { tool: 'bash', paths: [] } }, 'Before bash'],
    [{ trigger: 'tool', cause: { tool: 'edit', paths: ['odd\nname'] } }, 'Before edit odd name'],
    [{ trigger: 'tool' }, 'Before a tool call'],
    [{ trigger: 'idle', turn }, 'Turn ended: Fix the bug'],
    [{ trigger: 'idle' }, 'Turn ended'],
    [{ trigger: 'task', task: { title: 'Rewrite' } }, 'Task: Rewrite'],
    [{ trigger: 'task', task: {} }, 'Task saved'],
    [{ trigger: 'compaction', task: { title: 'Rewrite' } }, 'Compaction: Rewrite'],
    [{ trigger: 'interval', task: null }, 'Autosave'],
    [{ trigger: 'restore' }, 'Before restore'],
    [
      { trigger: 'restore', restore: { operation: 'restore', target: 'cp_1' }, targetTitle: 'Fix the bug' },
      'Before restoring “Fix the bug”',
    ],
    [{ trigger: 'restore', restore: { operation: 'restore', target: 'cp_1' } }, 'Before restoring “cp_1”'],
    [
      {
        trigger: 'restore',
        restore: { operation: 'restore', target: 'cp_1' },
        targetTitle: 'Before bash',
        targetTrigger: 'tool',
      },
      'Before going back to “bash”',
    ],
    [
      {
        trigger: 'restore',
        restore: { operation: 'restore', target: 'cp_1' },
        targetTitle: 'Fix the bug',
        targetTrigger: 'turn',
      },
      'Before going back to “Fix the bug”',
    ],
    [
      { trigger: 'restore', restore: { operation: 'restore', target: 'cp_1' }, targetTitle: 'Before the agent' },
      'Before restoring “Before the agent”',
    ],
    [{ trigger: 'restore', restore: { operation: 'undo', target: 'cp_1' } }, 'Before undo'],
    [{ trigger: 'restore', restore: { operation: 'redo', target: 'cp_1' } }, 'Before redo'],
    [
      { trigger: 'restore', restore: { operation: 'revert-turn', target: 'cp_1' }, targetTitle: 'Fix' },
      'Before reverting “Fix”',
    ],
    [{ trigger: 'manual' }, 'Manual checkpoint'],
    [{ trigger: 'import' }, 'Imported checkpoint'],
  ])('%j', (input, expected) => expect(titleOf(input)).toBe(expected));

  it('are always there: one trimmed line of at most 200 characters', () => {
    const text = anyText({ maxLength: 600 });
    fc.assert(
      fc.property(
        fc.constantFrom(...triggers),
        fc.record({
          name: fc.option(text),
          turn: fc.option(fc.record({ number: fc.nat(), prompt: text })),
          cause: fc.option(fc.record({ tool: text, paths: fc.array(text) })),
          task: fc.option(fc.record({ title: text })),
          targetTitle: fc.option(text),
        }),
        (trigger, rest) => {
          const title = titleOf({ trigger, ...rest });
          expect(title).not.toBe('');
          expect(title).toBe(title.trim());
          expect(title).not.toMatch(/[\p{Cc}\p{Surrogate}\u2028\u2029]/u);
          expect(characterCount(title)).toBeLessThanOrEqual(200);
        },
      ),
    );
  });

  it('are cut between graphemes', () => {
    const family = '👨‍👩‍👧‍👦';
    const cut = shorten(family.repeat(60), 200);
    expect(cut.endsWith('…')).toBe(true);
    expect(cut.slice(0, -1)).toBe(family.repeat(28));
    expect(shorten('e\u0301'.repeat(200), 100)).toBe(`${'e\u0301'.repeat(49)}…`);
    // One letter under a pile of marks is longer than the whole limit: it is cut after all.
    expect(characterCount(shorten(`a${'\u0301'.repeat(900)}`, 200))).toBeLessThanOrEqual(200);
  });

  it('take the first line that says something', () => {
    expect(firstLine('\u2028\u0085 \n\tHello\u2028world')).toBe('Hello');
    expect(firstLine('')).toBe('');
  });
});

describe('names', () => {
  it.each([
    ['  3 fixes ', '3 fixes'],
    ['latest', 'latest'],
    ['a | "b" \u{1F600}', 'a | "b" \u{1F600}'],
    ['cafe\u0301', 'caf\u00e9'],
    ['x'.repeat(200), 'x'.repeat(200)],
    ['\u{1F600}'.repeat(200), '\u{1F600}'.repeat(200)],
  ])('%j is kept as %j', (name, expected) => expect(cleanName(name)).toBe(expected));

  it.each(['', '   ', 'a\nb', 'a\tb', 'a\u0000b', 'a\u2028b', 'a\u202Eb', 'a\uD800b', 'x'.repeat(201), '\u0085'])(
    '%j is refused',
    (name) => {
      expect(() => cleanName(name)).toThrow(CheckpointsError);
      try {
        cleanName(name);
      } catch (error) {
        expect(CheckpointsError.is(error, 'invalid-argument')).toBe(true);
      }
    },
  );

  it('stay the same when they are cleaned again, and are their own title', () => {
    fc.assert(
      fc.property(anyText({ minLength: 1, maxLength: 60 }), (text) => {
        let name: string;
        try {
          name = cleanName(text);
        } catch (error) {
          if (CheckpointsError.is(error, 'invalid-argument')) return;
          throw error;
        }
        expect(cleanName(name)).toBe(name);
      }),
    );
  });

  it('clamps never split a character', () => {
    fc.assert(
      fc.property(anyText(), fc.nat(20), (text, max) => {
        const cut = clampCharacters(text, max);
        expect(text.startsWith(cut)).toBe(true);
        expect(characterCount(cut)).toBe(Math.min(max, characterCount(text)));
      }),
    );
  });
});
