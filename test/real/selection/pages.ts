/**
 * How many Pods of this part a page of an informer has. The first page has fewer: it tells how long
 * they are.
 */
export const PAGE = 500
const FIRST_PAGE = 50

/** The number of requests of an informer that lists so many Pods. */
export function pagesFor(pods: number): number {
  return 1 + Math.ceil(Math.max(0, pods - FIRST_PAGE) / PAGE)
}
