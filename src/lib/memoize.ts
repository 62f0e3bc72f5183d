/** Memoizes a function of one immutable object, for the lifetime of the object. */
export function memoize<In extends object, Out>(compute: (value: In) => Out): (value: In) => Out {
  const answers = new WeakMap<In, { readonly answer: Out }>();
  return (value) => {
    let known = answers.get(value);
    if (known === undefined) {
      known = { answer: compute(value) };
      answers.set(value, known);
    }
    return known.answer;
  };
}
