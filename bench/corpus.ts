import { seeded, type Random } from './random';

const words = (
  'account action adapter agent align append archive array async attach audit backend batch binding block branch bridge ' +
  'broker buffer cache call cell channel check chunk client clock clone column command commit config context cursor ' +
  'decode default delta depth detail diff driver edge editor encode engine entry error event export extend factory field ' +
  'filter fetch folder format frame gateway graph group guard handle header hook host icon import index inner input ' +
  'insert item iterate join journal kernel label lane layer layout lease leaf limit link listen load local lock logger ' +
  'manager marker match memory merge message meta method mirror model module mount native node notify number object ' +
  'observe offset option order origin outer output owner packet page panel parent parse patch path pattern peer phase ' +
  'pipe place plan plugin pointer policy pool port prefix prepare preview process profile prompt proxy queue range ' +
  'reader record recover reduce region registry release remote render replay report request reset resolve resource ' +
  'result retry return reverse root route runner sample scan schema scope score search section segment select sender ' +
  'serial server session shadow shape share signal size slot snapshot socket sort source stack stage state status step ' +
  'storage store stream string style suffix switch symbol sync table target task template test thread ticket time token ' +
  'tool trace track transform tree trigger tuple type union unit update upload user value vector version view visit ' +
  'watch weight widget window worker workspace wrapper write zone'
).split(' ');

export const word = (random: Random): string => random.pick(words);

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function line(random: Random): string {
  const [a, b, c, d] = [word(random), word(random), word(random), word(random)];
  const n = random.below(4096);
  const indent = '  '.repeat(random.below(5));
  switch (random.below(12)) {
    case 0:
      return `${indent}// The ${a} of a ${b} is the ${c} that its ${d} had at the last ${word(random)}.`;
    case 1:
      return `import { ${a}${capital(b)}, ${c} } from '../${d}/${b}';`;
    case 2:
      return `export function ${a}${capital(b)}(${c}: ${capital(d)}, ${b}: number): ${capital(a)} | undefined {`;
    case 3:
      return `${indent}if (${a}.${b} !== ${n} && this.${c}.has(${d})) return ${a}.${d}(${n});`;
    case 4:
      return `${indent}const ${a}${capital(c)} = await this.${b}.${d}(${c}, { ${a}: '${b}-${n}' });`;
    case 5:
      return `${indent}for (const ${a} of ${b}.${c}()) ${d}.push(${a}.${c} ?? ${n});`;
    case 6:
      return '';
    case 7:
      return `${indent}}`;
    case 8:
      return `${indent}throw new Error(\`no ${a} for \${${b}} in ${c}\`);`;
    case 9:
      return `${indent}"${a}.${b}": { "${c}": ${n}, "${d}": "${word(random)} ${word(random)}" },`;
    case 10:
      return `${indent}expect(${a}.${b}(${n})).toEqual(${c}.${d});`;
    default:
      return `${indent}return ${a}.${b}((${c}) => ${c}.${d} + ${n});`;
  }
}

/** A text to cut files out of: varied enough to compress like source code, cheap enough for 60,000 files. */
export class Corpus {
  private readonly text: Buffer;
  private readonly starts: number[] = [];

  constructor(seed: number, bytes = 4 * 1024 * 1024) {
    const random = seeded(seed);
    const lines: Buffer[] = [];
    for (let length = 0; length < bytes;) {
      const next = Buffer.from(line(random) + '\n');
      this.starts.push(length);
      lines.push(next);
      length += next.length;
    }
    this.text = Buffer.concat(lines);
  }

  /** About `size` bytes of whole lines, pieced together from several places so that no two files are alike. */
  source(random: Random, title: string, size: number): Buffer {
    const parts: Buffer[] = [Buffer.from(`// ${title}\n`)];
    let length = parts[0]?.length ?? 0;
    while (length < size) {
      const first = random.below(this.starts.length - 60);
      const last = first + 4 + random.below(50);
      let piece = this.text.subarray(this.starts[first], this.starts[last]);
      if (length + piece.length > size + 200)
        piece = piece.subarray(0, piece.indexOf(10, size - length) + 1 || piece.length);
      parts.push(piece);
      length += piece.length;
    }
    return Buffer.concat(parts);
  }
}

/** Bytes that do not compress, as in pictures and fonts. */
export function noise(random: Random, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32LE((random.next() * 4294967296) >>> 0, at);
  return bytes;
}
