export const oldest: string;
export function ownOpenCode(): string | undefined;
