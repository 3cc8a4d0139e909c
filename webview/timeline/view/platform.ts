/** A webview runs where the person sits, whatever machine the files are on. */
export const isMac = /mac/i.test(navigator.platform);
