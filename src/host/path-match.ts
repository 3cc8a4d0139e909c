/** As people type paths into a filter: any part of one, or a pattern with `*` (within a folder) and `**` (across). */
export const pathMatcher = (typed: string): ((path: string) => boolean) => {
  const wanted = typed.trim().toLowerCase().replaceAll('\\', '/').replace(/^\.\//, '');
  if (!wanted.includes('*')) return (path) => path.toLowerCase().includes(wanted);
  const source = wanted
    .split(/(\*\*\/?|\*)/)
    .map((part) => {
      if (part === '*') return '[^/]*';
      return part.startsWith('**') ? '.*' : part.replace(/[.+?^${}()|[\]]/g, '\\$&');
    })
    .join('');
  const pattern = new RegExp(`(^|/)${source}$`);
  return (path) => pattern.test(path.toLowerCase());
};
