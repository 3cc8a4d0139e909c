/**
 * What the shadow-repository peers never capture, in kind: build and dependency folders, media, caches, secrets,
 * databases, logs. A file of these kinds cannot be restored by them, so the bench edits none.
 */
export const shadowExcludes: readonly string[] = [
  '.git/',
  ...['.gradle/', '.idea/', '.parcel-cache/', '.pytest_cache/', '.next/', '.nuxt/', '.sass-cache/', '.vs/', '.vscode/'],
  ...['bin/', 'build/', 'bundle/', 'coverage/', 'deps/', 'dist/', 'env/', 'node_modules/', 'obj/', 'out/', 'pkg/'],
  ...['pycache/', '__pycache__/', 'target/dependency/', 'temp/', 'vendor/', 'venv/'],
  ...[
    '*.jpg',
    '*.jpeg',
    '*.png',
    '*.gif',
    '*.bmp',
    '*.ico',
    '*.webp',
    '*.svg',
    '*.mp3',
    '*.mp4',
    '*.mov',
    '*.wav',
    '*.pdf',
  ],
  ...['*.cache', '*.DS_Store', '*.bak', '*.swp', '*.tmp', '*.temp', '*.Thumbs.db'],
  ...['*.env*', '*.local', '*.development', '*.production'],
  ...['*.zip', '*.tar', '*.gz', '*.rar', '*.7z', '*.iso', '*.exe', '*.dll', '*.so', '*.dylib', '*.dmg', '*.msi'],
  ...['*.arrow', '*.avro', '*.csv', '*.dat', '*.db', '*.parquet', '*.sqlite', '*.sql', '*.dump'],
  ...['*.log', '*.logs', '*.log.*', '*.shp', '*.geojson', '*.gpkg', '*.lock'],
];
