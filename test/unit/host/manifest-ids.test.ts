import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { defaults, machineOnly } from '../../../src/core/config';
import {
  commands,
  container,
  contextKeys,
  needTrust,
  ofRows,
  section,
  settings,
  snapshotScheme,
  textScheme,
  views,
} from '../../../src/host/ids';

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8'));

interface Setting {
  default: unknown;
  scope: string;
  enum?: string[];
  markdownEnumDescriptions?: string[];
}

const manifest = read('package.json') as {
  activationEvents: string[];
  contributes: {
    commands: Array<{ command: string; enablement?: string }>;
    views: Record<string, Array<{ id: string }>>;
    viewsContainers: { activitybar: Array<{ id: string }> };
    configuration: { properties: Record<string, Setting> };
    menus: Record<string, Array<{ command: string; when?: string; group?: string }>>;
  };
};
const nls = read('package.nls.json') as Record<string, string>;
const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
const sorted = (values: Iterable<string>): string[] => [...values].sort();

describe('package.json and the code', () => {
  it('name the same commands', () => {
    expect(sorted(manifest.contributes.commands.map(({ command }) => command))).toEqual(
      sorted(Object.values(commands)),
    );
  });

  it('use in menus only commands that exist', () => {
    const known = new Set<string>(Object.values(commands));
    const used = Object.values(manifest.contributes.menus).flatMap((items) => items.map(({ command }) => command));
    expect(used.filter((command) => !known.has(command))).toEqual([]);
  });

  it('offer on several rows of the tree only what means several', () => {
    const several = (manifest.contributes.menus['view/item/context'] ?? []).filter(
      ({ when = '', group = '' }) =>
        when.includes(views.tree) && !group.startsWith('inline') && !when.includes('!listMultiSelection'),
    );
    expect(sorted(new Set(several.map(({ command }) => command)))).toEqual(
      sorted([
        ...[commands.compareSelected, commands.pin, commands.unpin, commands.delete, commands.export],
        ...[commands.restoreFile, commands.restoreFolder, commands.openChanges, commands.openFile],
      ]),
    );
  });

  it('offer in the menu of the list what is for other places in the order of the palette', () => {
    const others: string[] = [commands.backUpNow, commands.restoreSessions, commands.showBackupStatus];
    others.push(commands.push, commands.fetch, commands.import);
    const inMenu = (manifest.contributes.menus['view/title'] ?? []).filter(({ command }) => others.includes(command));
    const order = inMenu.sort((a, b) => ((a.group ?? '') < (b.group ?? '') ? -1 : 1)).map(({ command }) => command);
    const inPalette = manifest.contributes.commands.map(({ command }) => command);
    expect(order).toEqual(inPalette.filter((command) => others.includes(command)));
  });

  it('have buttons on rows however many are selected: VS Code looks only when it draws a row, and they would stay away', () => {
    const buttons = (manifest.contributes.menus['view/item/context'] ?? []).filter(({ group = '' }) =>
      group.startsWith('inline'),
    );
    expect(buttons.length).toBeGreaterThan(5);
    expect(buttons.filter(({ when = '' }) => /list\w+Selection/.test(when))).toEqual([]);
  });

  it('have in the menu of a row what its buttons do: a keyboard reaches no button', () => {
    const ofRow = manifest.contributes.menus['view/item/context'] ?? [];
    const plain = (when = ''): string => when.replace(/ && !listMultiSelection$/, '');
    const inMenus = ofRow.filter(({ group = '' }) => !group.startsWith('inline'));
    const buttons = ofRow.filter(({ group = '' }) => group.startsWith('inline'));
    const alone = buttons.filter(
      ({ command, when }) => !inMenus.some((entry) => entry.command === command && plain(entry.when) === plain(when)),
    );
    expect(alone).toEqual([]);
  });

  it('compare two rows of a kind that stands for a checkpoint', () => {
    const compare = manifest.contributes.menus['view/item/context']?.find(
      ({ command }) => command === commands.compareSelected,
    );
    expect(compare?.when).toContain('(viewItem =~ /:checkpoint:/ || viewItem == turn)');
  });

  it('name the same commands of rows', () => {
    const { menus } = manifest.contributes;
    const inTitles = new Set(menus['view/title']?.map(({ command }) => command));
    const onRows = menus['view/item/context']?.map(({ command }) => command) ?? [];
    expect(sorted(ofRows)).toEqual(sorted(new Set(onRows.filter((command) => !inTitles.has(command)))));
  });

  it('name the same views in the same container', () => {
    expect(manifest.contributes.viewsContainers.activitybar.map(({ id }) => id)).toEqual([container]);
    expect(sorted((manifest.contributes.views[container] ?? []).map(({ id }) => id))).toEqual(
      sorted(Object.values(views)),
    );
  });

  it('say of every choice of a setting what it means', () => {
    const choices = Object.values(manifest.contributes.configuration.properties).filter((one) => one.enum);
    expect(choices.length).toBeGreaterThan(1);
    for (const { enum: values = [], markdownEnumDescriptions: told = [] } of choices)
      expect(told.map((key) => (nls[key.slice(1, -1)] ?? '').length > 10)).toEqual(values.map(() => true));
  });

  it('name the same settings, and those of the core', () => {
    const keys = Object.keys(manifest.contributes.configuration.properties);
    expect(sorted(keys)).toEqual(sorted(Object.values(settings).map((key) => `${section}.${key}`)));
    expect(sorted(Object.values(settings))).toEqual(sorted(Object.keys(defaults)));
  });

  it('keep to machine scope what names a program, a server or a place', () => {
    const { properties } = manifest.contributes.configuration;
    const machine = Object.entries(properties).filter(([, { scope }]) => scope === 'machine');
    expect(sorted(machine.map(([key]) => key))).toEqual(sorted(machineOnly.map((key) => `${section}.${key}`)));
  });

  it('name the same context keys', () => {
    const used = new Set(text.match(/opencodeCheckpoints\.[A-Za-z]+(?= (==|=~|&&)|"|\)| \|\|)/g));
    const others = new Set<string>([...Object.values(commands), ...Object.values(views)]);
    const keys = [...used].filter((key) => !others.has(key) && !(key in manifest.contributes.configuration.properties));
    expect(
      keys.filter(
        (key) =>
          !(Object.values(contextKeys) as string[]).includes(key) && key !== 'opencodeCheckpoints.timelineEditor',
      ),
    ).toEqual([]);
    const unused = Object.values(contextKeys).filter((key) => !text.includes(key));
    expect(unused).toEqual([]);
  });

  it('activate for the files of checkpoints, and for texts that are edited as files', () => {
    expect(manifest.activationEvents).toContain(`onFileSystem:${snapshotScheme}`);
    expect(manifest.activationEvents).toContain(`onFileSystem:${textScheme}`);
  });

  it('have a text for every %key%, and no key without use', () => {
    const used = [...text.matchAll(/"%([^%"]+)%"/g)].map(([, key]) => key ?? '');
    expect(sorted(new Set(used))).toEqual(sorted(Object.keys(nls)));
  });

  it('let untrusted folders look, and no more', () => {
    const guarded = manifest.contributes.commands.filter(({ enablement }) =>
      enablement?.includes('isWorkspaceTrusted'),
    );
    expect(sorted(guarded.map(({ command }) => command))).toEqual(sorted(needTrust));
  });
});
