// The read me as VS Code shows it on the extension's page.

/** The pictures stay in the repository: they would be a fifth of the package, and nobody needs them offline. */
const picture = /^!\[[^\]]*\]\((?!https:)[^)]*\)\n\n?/gm;

/** To another file of the repository. Anchors and addresses work on that page, these lead nowhere. */
const link = /\[([^\]]*)\]\((?!https?:|#)([^)#]*)(?:#[^)]*)?\)/g;

/** Without what only works in the repository; a link becomes its text and the name of the file. */
export function extensionPage(text) {
  return text
    .replace(picture, '')
    .replace(link, (_all, words, file) => (words === file ? `\`${file}\`` : `${words} (\`${file}\`)`));
}
