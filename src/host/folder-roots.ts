/** What is known of a folder of the window and of its root. No vscode here. */
export interface FolderSource<F, R> {
  key(folder: F): string;
  open(folder: F): Promise<R>;
  /** Two folders of one repository have the same root. */
  id(root: R): string;
  /** Tells a root which folder it is shown as. */
  place(root: R, folder: F): Promise<void>;
  close(root: R): Promise<unknown>;
}

export interface FailedFolder<F, E = unknown> {
  folder: F;
  error: E;
}

/** Which root each folder has. When folders come and go, what is open and still has a folder is left alone. */
export class FolderRoots<F, R> {
  private byFolder = new Map<string, R>();
  private problems: Array<FailedFolder<F>> = [];

  constructor(private readonly source: FolderSource<F, R>) {}

  get roots(): R[] {
    return [...new Set(this.byFolder.values())];
  }

  get failed(): ReadonlyArray<FailedFolder<F>> {
    return this.problems;
  }

  /** Opens what is new or could not be opened before. Answers the roots that have no folder any more, to be closed. */
  async match(folders: readonly F[]): Promise<R[]> {
    const open = new Map(this.roots.map((root) => [this.source.id(root), root]));
    const byFolder = new Map<string, R>();
    const shown = new Set<R>();
    const problems: Array<FailedFolder<F>> = [];
    for (const folder of folders)
      try {
        const key = this.source.key(folder);
        const root = this.byFolder.get(key) ?? (await this.openOnce(folder, open));
        if (!shown.has(root)) await this.source.place(root, folder);
        shown.add(root);
        byFolder.set(key, root);
      } catch (error) {
        problems.push({ folder, error });
      }
    this.byFolder = byFolder;
    this.problems = problems;
    const now = this.roots;
    return [...open.values()].filter((root) => !now.includes(root));
  }

  /** All of them, to be closed. */
  clear(): R[] {
    const { roots } = this;
    this.byFolder = new Map();
    this.problems = [];
    return roots;
  }

  private async openOnce(folder: F, open: Map<string, R>): Promise<R> {
    const root = await this.source.open(folder);
    const id = this.source.id(root);
    const same = open.get(id);
    if (same === undefined) {
      open.set(id, root);
      return root;
    }
    await this.source.close(root);
    return same;
  }
}
