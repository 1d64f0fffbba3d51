"""Names and places that may stand for one another, list by list.

They leave out whatever is also an ordinary English word when written small (Mark, Grace, Turkey), or both a person
and a place (Jordan, Washington): where such a word is meant otherwise, its exchange would change what a text says.
"""

from __future__ import annotations

WOMEN = """
Alice Amanda Andrea Angela Anna Barbara Beatrice Brenda Carla Caroline Catherine Cynthia Deborah Diana Elena Elizabeth
Emily Emma Eva Fiona Hannah Helen Irene Isabel Jane Janet Jennifer Jessica Julia Karen Kate Katherine Laura Linda Lisa
Louise Lucy Margaret Maria Martha Mary Megan Melissa Michelle Monica Nancy Nicole Olivia Pamela Patricia Rachel
Rebecca Ruth Sandra Sarah Sharon Sophie Stephanie Susan Teresa Ursula Vanessa Veronica Wendy
"""

MEN = """
Aaron Adam Albert Alexander Andrew Anthony Arthur Benjamin Brian Charles Christopher Daniel David Dennis Donald
Douglas Edward Eric Ethan Felix Fred Gary Geoffrey George Gregory Harold Henry Howard Hugo Isaac James Jason Jeffrey
Jeremy John Jonathan Joseph Joshua Kenneth Kevin Larry Leonard Luke Martin Matthew Michael Nathan Nicholas Oliver
Patrick Paul Peter Philip Raymond Richard Robert Ronald Ryan Samuel Simon Stephen Steven Theodore Timothy Tom Vincent
Walter William
"""

SURNAMES = """
Adams Alvarez Anderson Bennett Campbell Carlson Chen Clarke Collins Cruz Davies Davis Diaz Edwards Evans Fernandez
Garcia Gonzalez Hansen Harrison Hernandez Hughes Jenkins Jensen Johnson Jones Kowalski Larsen Lewis Lopez Martinez
Mitchell Morgan Morris Murphy Nelson Nguyen Novak Olsen Patel Perez Peterson Phillips Ramirez Reynolds Richardson
Roberts Robinson Rodriguez Rossi Sanchez Schmidt Simpson Stevenson Sullivan Thompson Torres Wallace Watson Williams
Wilson Yamamoto
"""

CITIES = """
Amsterdam, Athens, Atlanta, Baltimore, Bangkok, Barcelona, Berlin, Boston, Brussels, Budapest, Cairo, Chicago,
Cleveland, Copenhagen, Denver, Detroit, Dublin, Edinburgh, Geneva, Glasgow, Hamburg, Helsinki, Hong Kong, Istanbul,
Jakarta, Johannesburg, Las Vegas, Lisbon, Liverpool, London, Los Angeles, Madrid, Manchester, Melbourne, Memphis,
Miami, Milan, Milwaukee, Minneapolis, Montreal, Moscow, Mumbai, Munich, Nairobi, Naples, New Orleans, New York, Osaka,
Oslo, Ottawa, Paris, Philadelphia, Pittsburgh, Prague, Rome, San Diego, San Francisco, Seattle, Seoul, Shanghai,
Stockholm, Tokyo, Toronto, Vancouver, Venice, Vienna, Warsaw, Zurich
"""

COUNTRIES = """
Argentina, Australia, Austria, Belgium, Brazil, Bulgaria, Canada, Colombia, Croatia, Cuba, Denmark, Ecuador, Egypt,
England, Ethiopia, Finland, France, Germany, Greece, Hungary, Iceland, India, Indonesia, Ireland, Italy, Kenya,
Malaysia, Mexico, Morocco, New Zealand, Nigeria, Norway, Pakistan, Peru, Poland, Portugal, Romania, Russia, Scotland,
Serbia, Singapore, South Africa, Spain, Sweden, Switzerland, Thailand, Ukraine, Venezuela, Vietnam
"""

STATES = """
Alabama, Alaska, Arizona, Arkansas, California, Colorado, Connecticut, Delaware, Florida, Hawaii, Idaho, Illinois,
Kansas, Kentucky, Louisiana, Massachusetts, Michigan, Minnesota, Mississippi, Missouri, Nebraska, Nevada, New
Hampshire, New Jersey, New Mexico, North Carolina, Ohio, Oklahoma, Oregon, Pennsylvania, South Dakota, Tennessee,
Texas, Utah, Vermont, Wisconsin, Wyoming
"""


def _parted(words: str, by: str | None = None) -> tuple[str, ...]:
    return tuple(" ".join(word.split()) for word in words.split(by))


NAMES = (_parted(WOMEN), _parted(MEN), _parted(SURNAMES))
PLACES = (_parted(CITIES, ","), _parted(COUNTRIES, ","), _parted(STATES, ","))
