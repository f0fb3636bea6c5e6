/**
 * Links and pictures of a Markdown page that name a file beside it, without what is behind `#`. Code
 * is left out.
 */
export function relativeLinks(markdown: string): string[] {
  const prose = markdown.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)[^)]*\)|\b(?:src|href|srcset)="([^"]+)"/g)]
    .map(([, link, attribute]) => link ?? attribute ?? '')
    .filter((target) => !/^(?:[a-z]+:|#)/i.test(target))
    .map((target) => target.replace(/#.*$/, ''))
}
