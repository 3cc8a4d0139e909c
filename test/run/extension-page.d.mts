export function extensionPage(text: string): string;
