/** Loads a package from here: what this folder does not have is found in that above it. */
export function importHere(name: string): Promise<unknown> {
  return import(name)
}
