import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  installedPlugin,
  installPlugin,
  keepSpared,
  spareNewFolder,
  spareStart,
  uninstallPlugin,
  type InstallOptions,
} from '../../src/opencode/plugin-install';
import { seedFolder, unseedIfShared } from '../../src/opencode/plugin-seed';

describe('installing the plugin', () => {
  let folder: string;
  let options: InstallOptions;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plugin-install-'));
    const bundle = join(folder, 'opencode-plugin.js');
    await writeFile(bundle, 'export default { id: "x" };\n//# sourceMappingURL=opencode-plugin.js.map\n');
    await mkdir(join(folder, 'root'));
    options = {
      bundle,
      version: '1.2.3',
      root: join(folder, 'root'),
      env: { XDG_CONFIG_HOME: join(folder, 'config'), HOME: join(folder, 'home') },
    };
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('puts a stamped copy in its place, knows an outdated one, and removes all of it', async () => {
    const { root } = options;
    expect(await installedPlugin('project', options)).toBeNull();
    const done = await installPlugin('project', options);
    expect(done.path).toBe(join(root, '.opencode/plugins/opencode-checkpoints.js'));
    expect(done).toMatchObject({ changed: true, version: '1.2.3' });
    const text = await readFile(done.path, 'utf8');
    expect(text).toMatch(/^\/\/ opencode-checkpoints 1\.2\.3 [0-9a-f]{12}\nexport default/);
    expect(text).not.toContain('sourceMappingURL');
    expect((await installPlugin('project', options)).changed).toBe(false);
    expect(await installedPlugin('project', options)).toMatchObject({ outdated: false });
    await writeFile(options.bundle, 'export default { id: "newer" };\n');
    expect(await installedPlugin('project', options)).toMatchObject({ version: '1.2.3', outdated: true });
    const newer = { ...options, version: '1.3.0' };
    expect(await installPlugin('project', newer)).toMatchObject({ changed: true, version: '1.3.0' });
    expect(await uninstallPlugin('project', newer)).toEqual([done.path]);
    expect(await readdir(root)).toEqual([]);
    expect(await uninstallPlugin('project', newer)).toEqual([]);
  });

  it('leaves files that are not ours', async () => {
    const path = join(options.root, '.opencode/plugins/opencode-checkpoints.js');
    await mkdir(join(options.root, '.opencode/plugins'), { recursive: true });
    await writeFile(path, 'export default {};\n');
    await expect(installPlugin('project', options)).rejects.toMatchObject({ reason: 'conflict' });
    expect(await uninstallPlugin('project', options)).toEqual([]);
    expect(existsSync(path)).toBe(true);
  });

  it('works where the configuration folder cannot be changed, and says what cannot where its own cannot be', async () => {
    await writeFile(join(folder, 'config'), 'a file, where nobody can make a folder\n');
    expect(await installPlugin('project', options)).toMatchObject({ seeded: [join(options.root, '.opencode')] });
    expect(await installedPlugin('project', options)).toMatchObject({ outdated: false });
    await expect(installPlugin('global', options)).rejects.toMatchObject({
      reason: 'workspace-readonly',
      message: expect.stringContaining(`${join(folder, 'config', 'opencode')} cannot be changed: `) as string,
    });
  });

  it('spares OpenCode 1 its npm install only where nobody else needs the package', async () => {
    const config = join(folder, 'config', 'opencode');
    const project = join(options.root, '.opencode');
    await mkdir(join(config, 'plugins'), { recursive: true });
    await writeFile(join(config, 'plugins', 'mine.ts'), 'import { tool } from "@opencode-ai/plugin";\n');
    expect((await installPlugin('project', options)).seeded).toEqual([project]);
    expect(existsSync(join(config, 'package.json'))).toBe(false);
    const lock = JSON.parse(await readFile(join(project, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { dependencies: Record<string, string> }>;
    };
    expect(lock.packages['']?.dependencies).toHaveProperty('@opencode-ai/plugin');
    expect(await readFile(join(project, '.gitignore'), 'utf8')).toContain('package.json');

    expect(unseedIfShared(project)).toBe(false);
    await mkdir(join(project, 'tool'));
    await writeFile(join(project, 'tool', 'own.ts'), 'export default {};\n');
    expect(unseedIfShared(project)).toBe(true);
    expect((await readdir(project)).sort()).toEqual(['plugins', 'tool']);
    expect((await installPlugin('project', options)).seeded).toEqual([]);
  });

  it('leaves the folder of all projects as it is while there is a copy in it', async () => {
    const config = join(folder, 'config', 'opencode');
    await installPlugin('global', options);
    await installPlugin('project', options);
    const before = (await readdir(config)).sort();
    expect(before).toContain('package-lock.json');
    await uninstallPlugin('project', options);
    expect((await readdir(config)).sort()).toEqual(before);
    await uninstallPlugin('global', options);
    expect(existsSync(config)).toBe(false);
    // Without a copy there nobody would take the files away when another plugin comes.
    await installPlugin('project', options);
    expect(await readdir(config)).toContain('package-lock.json');
    await uninstallPlugin('project', options);
    expect(existsSync(config)).toBe(false);
  });

  it('spares OpenCode 1 its npm install in every folder that it searches, and leaves none of it behind', async () => {
    const config = join(folder, 'config', 'opencode');
    const home = join(folder, 'home', '.opencode');
    const above = join(folder, '.opencode');
    const project = join(options.root, '.opencode');
    // OpenCode's own installer puts the program there.
    await mkdir(join(home, 'bin'), { recursive: true });
    await mkdir(join(above, 'command'), { recursive: true });
    expect((await installPlugin('project', options)).seeded).toEqual([project, config, home, above]);
    expect(await uninstallPlugin('project', options)).toHaveLength(1);
    expect(await readdir(home)).toEqual(['bin']);
    expect(await readdir(above)).toEqual(['command']);
    // What lies above a repository is not searched.
    await mkdir(join(options.root, '.git'));
    expect((await installPlugin('global', options)).seeded).toEqual([config, home]);

    // A folder that comes later, made by us or by somebody else.
    await mkdir(join(project, 'state'), { recursive: true });
    await spareNewFolder(project, options.env);
    expect(await readdir(project)).toContain('package-lock.json');
    await installPlugin('project', options);
    await uninstallPlugin('project', options);
    expect((await readdir(project)).sort()).toEqual(
      ['.gitignore', 'node_modules', 'package-lock.json', 'package.json', 'state'].sort(),
    );
    await uninstallPlugin('global', options);
    expect(await readdir(project)).toEqual(['state']);
    expect(await readdir(home)).toEqual(['bin']);
    await spareNewFolder(project, options.env);
    expect(await readdir(project)).toEqual(['state']);
  });

  it('takes along what the copy for all projects spared in those that are known', async () => {
    const [worked, has] = ['worked', 'has'].map((name) => join(folder, name, '.opencode'));
    if (!worked || !has) throw new Error('no folders');
    for (const one of [worked, has]) await mkdir(join(one, 'state'), { recursive: true });
    const { path } = await installPlugin('global', options);
    // OpenCode 1 has loaded it there.
    await keepSpared(join(folder, 'worked'), options.env ?? {}, path);
    await installPlugin('project', { ...options, root: join(folder, 'has') });
    expect(await readdir(worked)).toContain('package-lock.json');
    const known = ['worked', 'has', 'gone'].map((name) => join(folder, name));
    await uninstallPlugin('global', { ...options, known });
    expect(await readdir(worked)).toEqual(['state']);
    expect(await readdir(has)).toContain('package-lock.json');
  });

  it('leaves what the copy of another project still needs', async () => {
    const config = join(folder, 'config', 'opencode');
    const home = join(folder, 'home', '.opencode');
    await mkdir(join(home, 'bin'), { recursive: true });
    const other = { ...options, root: join(folder, 'other') };
    await mkdir(other.root);
    await installPlugin('project', options);
    await installPlugin('project', other);
    await uninstallPlugin('project', options);
    for (const one of [config, home]) expect(await readdir(one)).toContain('package-lock.json');
    // Nor does the copy of all projects take it with it.
    await installPlugin('global', options);
    await uninstallPlugin('global', options);
    for (const one of [config, home]) expect(await readdir(one)).toContain('package-lock.json');
    await uninstallPlugin('project', other);
    expect(existsSync(config)).toBe(false);
    expect(await readdir(home)).toEqual(['bin']);
  });

  it('knows by its loading a copy that nobody installed here', async () => {
    const config = join(folder, 'config', 'opencode');
    const cloned = join(folder, 'cloned');
    const { path } = await installPlugin('project', options);
    await mkdir(join(cloned, '.opencode', 'plugins'), { recursive: true });
    const copy = join(cloned, '.opencode', 'plugins', 'opencode-checkpoints.js');
    await copyFile(path, copy);
    await mkdir(join(cloned, 'sub'));
    await keepSpared(join(cloned, 'sub'), options.env ?? {}, copy);
    await uninstallPlugin('project', options);
    expect(await readdir(config)).toContain('package-lock.json');
    // A copy that somebody deleted needs nothing.
    await installPlugin('project', options);
    await rm(cloned, { recursive: true });
    await uninstallPlugin('project', options);
    expect(existsSync(config)).toBe(false);
  });

  it('spares a start in folders that came since, where the plugin is', async () => {
    const home = join(folder, 'home', '.opencode');
    await mkdir(join(home, 'bin'), { recursive: true });
    await spareStart(options.root, options.env);
    expect(await readdir(home)).toEqual(['bin']);
    await rm(home, { recursive: true });
    await installPlugin('project', options);
    await mkdir(join(home, 'bin'), { recursive: true });
    await spareStart(options.root, options.env);
    expect(await readdir(home)).toContain('package-lock.json');
    await uninstallPlugin('project', options);
    expect(await readdir(home)).toEqual(['bin']);
  });

  it('looks again whenever the plugin is loaded', async () => {
    const project = join(options.root, '.opencode');
    const home = join(folder, 'home', '.opencode');
    await mkdir(join(project, 'tool'), { recursive: true });
    await mkdir(join(home, 'bin'), { recursive: true });
    await seedFolder(project);
    await writeFile(join(project, 'tool', 'own.ts'), 'export default {};\n');
    // Named in OpenCode's configuration, it may lie anywhere.
    void keepSpared(options.root, options.env ?? {}, options.bundle);
    expect(await readdir(project)).toEqual(['tool']);
    await vi.waitFor(() => expect(existsSync(join(home, 'package.json'))).toBe(true));
  });

  it('puts nothing back where it was uninstalled under a running OpenCode', async () => {
    const project = join(options.root, '.opencode');
    await mkdir(project);
    await writeFile(join(project, 'opencode.json'), '{}');
    const { path } = await installPlugin('project', options);
    await uninstallPlugin('project', options);
    await keepSpared(options.root, options.env ?? {}, path);
    expect(await readdir(project)).toEqual(['opencode.json']);
    // Another copy is still there, and OpenCode 1 would wait because of it.
    await installPlugin('global', options);
    await rm(join(project, 'package.json'));
    await rm(join(project, 'package-lock.json'));
    await rm(join(project, 'node_modules'), { recursive: true });
    await keepSpared(options.root, options.env ?? {}, path);
    expect(await readdir(project)).toContain('package-lock.json');
  });

  it('does not touch a folder that has packages of its own', async () => {
    const config = join(folder, 'config', 'opencode');
    await mkdir(config, { recursive: true });
    await writeFile(join(config, 'package.json'), '{"dependencies":{}}');
    expect((await installPlugin('global', options)).seeded).toEqual([]);
    expect(await readFile(join(config, 'package.json'), 'utf8')).toBe('{"dependencies":{}}');
    await uninstallPlugin('global', options);
    expect(await readdir(config)).toEqual(['package.json']);
  });
});
